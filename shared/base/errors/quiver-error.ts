/**
 * The registry of operating errors: every error that a client can see is one of these kinds. `code` is the envelope's
 * error code (spec section 7); `retryable` says whether the same call may succeed later. Programming errors are not
 * here: they are assertions, and appear as `internal`.
 */
export const ERROR_KINDS = {
  invalid_parameter: { code: 400, retryable: false },
  dimension_mismatch: { code: 400, retryable: false },
  limit_exceeded: { code: 400, retryable: false },
  unauthenticated: { code: 401, retryable: false },
  forbidden: { code: 403, retryable: false },
  not_found: { code: 404, retryable: false },
  already_exists: { code: 409, retryable: false },
  /** An item is not as the caller expects: nothing was done. */
  conflict: { code: 409, retryable: false },
  /** An Idempotency-Key was used for another request before. */
  key_reused: { code: 422, retryable: false },
  schema_violation: { code: 422, retryable: false },
  rate_limited: { code: 429, retryable: true },
  overloaded: { code: 429, retryable: true },
  unavailable: { code: 500, retryable: true },
  /** The write was sent but its outcome is unknown: it was applied once or not at all. */
  commit_unknown: { code: 500, retryable: true },
  /**
   * Between coordinators and nodes only: the caller's map of the shard is out of date. With a newer map the call may
   * succeed.
   */
  misrouted: { code: 500, retryable: true },
  /**
   * Inside a coordinator and between it and nodes only: the shard is of a set of shards that is not, or no longer, that
   * of its collection. With the collection's record read again the call may succeed.
   */
  resharded: { code: 500, retryable: true },
  /**
   * Inside a coordinator only: the collection's vectors are of another model since the call began. Begun again from its
   * texts, it may succeed.
   */
  remodelled: { code: 500, retryable: true },
  embedding_unavailable: { code: 500, retryable: false },
  storage_failed: { code: 500, retryable: false },
  /** The stored data differ from what was written, so a repetition fails the same way. */
  storage_damaged: { code: 500, retryable: false },
  internal: { code: 500, retryable: false },
} as const;

export type ErrorKind = keyof typeof ERROR_KINDS;

/** An operating error with a stable kind; its message is meant for the client and holds no secret, path or stack. */
export class QuiverError extends Error {
  readonly kind: ErrorKind;
  /** Facts for the log (ids, sizes, limits); they are never sent to the client. */
  readonly details: Readonly<Record<string, unknown>>;
  /**
   * Facts for the client's program: further members of the envelope's error. Lost on the way between members and
   * threads.
   */
  readonly shown: Readonly<Record<string, unknown>> | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown>; shown?: Record<string, unknown> } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'QuiverError';
    this.kind = kind;
    this.details = options.details ?? {};
    this.shown = options.shown;
  }

  get code(): number {
    return ERROR_KINDS[this.kind].code;
  }

  get retryable(): boolean {
    return ERROR_KINDS[this.kind].retryable;
  }
}

export function isQuiverError(error: unknown): error is QuiverError {
  return error instanceof QuiverError;
}

/** Whether stored data are gone, or are not what was written. */
export function isDamage(error: unknown): error is QuiverError {
  return isQuiverError(error) && error.kind === 'storage_damaged';
}
