import * as client from '../../clients/typescript/src/errors';
import { CommandError, EXIT_CODES, type ExitCode } from '../command-error';

const EXIT_CODES_OF_ANSWERS: Record<number, ExitCode> = {
  401: EXIT_CODES.denied,
  403: EXIT_CODES.denied,
  404: EXIT_CODES.notFound,
};

/** The service answered with an error. `code` is that of the envelope. */
export class ServiceError extends CommandError {
  constructor(
    message: string,
    readonly code: number,
    /** What a 429 asks to wait, null when it does not say. */
    readonly retryAfterMs: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, EXIT_CODES_OF_ANSWERS[code] ?? EXIT_CODES.failed, options);
    this.name = 'ServiceError';
  }

  /** The same request may be answered later: the service is busy, starting, or lacks a shard for now. */
  get isPassing(): boolean {
    return this.code === 429 || this.code >= 500;
  }

  /** What was sent is wrong, or too much at once; a part of it may be right. */
  get isRefusal(): boolean {
    return this.code === 400 || this.code === 422;
  }
}

/** No answer: nobody listens, the connection broke, or the deadline passed. */
export class NoAnswerError extends CommandError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, EXIT_CODES.unreachable, options);
    this.name = 'NoAnswerError';
  }
}

/** Where the key of a command comes from, which sends no header by hand. */
const KEY_HINT = 'a command takes the key from QUIVER_API_KEY or a profile (quiver profile set)';

/** What an error of the client means to a command; any other error is answered as it is. */
export function commandErrorFrom(error: Error): Error {
  if (error instanceof client.ApiError)
    return new ServiceError(
      error.code === 401 ? `${error.message}; ${KEY_HINT}` : error.message,
      error.code,
      error.retryAfterMs,
      { cause: error },
    );
  // A proxy's page in the place of an answer says by its status whether to come back.
  if (error instanceof client.BadAnswerError && error.httpStatus !== 429 && error.httpStatus < 500)
    return new CommandError(error.message, EXIT_CODES.failed, { cause: error });
  if (error instanceof client.QuiverError) return new NoAnswerError(error.message, { cause: error });
  return error;
}
