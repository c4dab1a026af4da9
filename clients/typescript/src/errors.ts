/** Errors of the client. Decide by class or `code`, never by the text. */
export class QuiverError extends Error {
  // Written out, because programs that make code smaller change the names of classes.
  override name = 'QuiverError';

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
  }
}

/** Something that was given can't be sent, and was not. The message names the item and the field. */
export class InvalidValueError extends QuiverError {
  override name = 'InvalidValueError';
  /** As the service would have answered. */
  readonly code = 422;
  /** Without the place. */
  readonly reason: string;
  /** Its place within the item or request, such as `metadata.tags[2]`. */
  field: string;
  /** The number of the item among those given, from 0; null where one was given. */
  position: number | null = null;
  external_id: string | null = null;

  constructor(reason: string, { field = '', cause }: { field?: string; cause?: unknown } = {}) {
    super(field === '' ? reason : `${field}: ${reason}`, { cause });
    this.reason = reason;
    this.field = field;
  }

  /** @internal The same error with the name or number of what its place is in. */
  below(part: string | number): this {
    const own = typeof part === 'number' ? `[${part}]` : part;
    this.field = this.field === '' || this.field.startsWith('[') ? own + this.field : `${own}.${this.field}`;
    return this.told();
  }

  /** @internal The same error with the item that it is about. */
  ofItem(position: number | null, externalId: string | null): this {
    this.position = position;
    this.external_id = externalId;
    return this.told();
  }

  private told(): this {
    const id = this.external_id === null ? null : JSON.stringify(this.external_id);
    const item = this.position === null ? id : `item ${this.position}${id === null ? '' : ` (${id})`}`;
    const places = [item, this.field].filter((place) => place !== null && place !== '');
    this.message = places.length === 0 ? this.reason : `${places.join(', ')}: ${this.reason}`;
    return this;
  }
}

/** What is known about an error that the service answered. */
export interface ApiErrorFacts {
  /** As in the envelope: 400, 401, 403, 404, 409, 422, 429, 500. */
  code: number;
  /** The service's `x-request-id`, which its log has too; null where a proxy dropped it. */
  requestId: string | null;
  /** How long the service asks to wait; null unless it says. */
  retryAfterMs: number | null;
  method: string;
  path: string;
  /** How often the request was sent. */
  attempts: number;
}

/** An item that is not as a conditional write expects. */
export interface VersionConflict {
  external_id: string;
  /** The version that it has; null: it does not exist. */
  version: number | null;
}

/**
 * The service refused or failed: an envelope with `status: "error"`. A code without a class of its own comes as this
 * one.
 */
export class ApiError extends QuiverError implements ApiErrorFacts {
  override name = 'ApiError';
  readonly code: number;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly method: string;
  readonly path: string;
  readonly attempts: number;
  /**
   * Whether an earlier attempt of the same call may have been carried out, although its answer was lost. Then the error
   * may be about what the call itself did: an item that is gone already, or has another version than before.
   */
  afterLostAnswer = false;

  constructor(message: string, facts: ApiErrorFacts) {
    super(message);
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.method = facts.method;
    this.path = facts.path;
    this.attempts = facts.attempts;
  }
}

/** 400: an invalid parameter, another dimension than the collection's, or a limit that was exceeded. */
export class BadRequestError extends ApiError {
  override name = 'BadRequestError';
}
/** 401: the API key is missing or not valid. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError';
}
/** 403: the API key lacks the role. */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError';
}
/** 404: the collection, vector, key or node does not exist. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 409: it exists already, or something else is under way. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}
/**
 * 409 of a conditional write (`if_version`, `only_if`, `if_versions`): an item is not as it expects, and nothing was
 * done but what {@link written} names. With {@link afterLostAnswer} it may be this very call that changed the item:
 * read it.
 */
export class VersionConflictError extends ConflictError {
  override name = 'VersionConflictError';
  /** The items that are not as expected, with their present versions; at most 100. */
  readonly conflicts: readonly VersionConflict[];
  /** Ids of other shards that were written all the same, because another change came in between; at most 100. */
  readonly written: readonly string[];

  constructor(
    message: string,
    facts: ApiErrorFacts,
    found: { conflicts: readonly VersionConflict[]; written?: readonly string[] | undefined },
  ) {
    super(message, facts);
    this.conflicts = found.conflicts;
    this.written = found.written ?? [];
  }
}
/** 422: the body does not fit the schema; the message names the field. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
}
/** 429: too many requests of this key, or the server is busy. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}
/** 500: the service failed. */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

/** No answer came: no connection, or it broke. */
export class ConnectionError extends QuiverError {
  override name = 'ConnectionError';
  /** Whether the request may have reached the service. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, options: { cause?: unknown; mayHaveArrived: boolean }) {
    super(message, options);
    this.mayHaveArrived = options.mayHaveArrived;
  }
}

/** No answer came in time. The request may have been carried out. */
export class TimeoutError extends QuiverError {
  override name = 'TimeoutError';
}

/** The answer is none of this service: of a proxy on the way, or from another address. */
export class BadAnswerError extends QuiverError {
  override name = 'BadAnswerError';
  readonly httpStatus: number;
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { cause?: unknown; httpStatus: number; retryAfterMs?: number | null }) {
    super(message, options);
    this.httpStatus = options.httpStatus;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

const CLASS_OF_CODE: Record<number, typeof ApiError> = {
  400: BadRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
  500: ServerError,
};

/** The error of an envelope, as the class of its code. */
export function apiError(message: string, facts: ApiErrorFacts): ApiError {
  return new (CLASS_OF_CODE[facts.code] ?? ApiError)(message, facts);
}
