import { status } from '@grpc/grpc-js';

/**
 * What is known about a failed call. `unreached`: it was never sent. `refused`: etcd answered and did nothing.
 * `unknown`: it was sent, but no answer came, so it may have taken effect.
 */
export type EtcdFailure = 'unreached' | 'refused' | 'unknown';

/** Status codes with which etcd says that it applied nothing. With any other code, the change may have been made. */
const REFUSALS = new Set<number>([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.RESOURCE_EXHAUSTED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
]);

/** A failed call to etcd, with its gRPC status code. */
export class EtcdCallError extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly outcome: EtcdFailure,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'EtcdCallError';
  }

  /** The failure of a call that was sent. */
  static fromStatus(error: { code: number; details: string }): EtcdCallError {
    return new EtcdCallError(error.details, error.code, REFUSALS.has(error.code) ? 'refused' : 'unknown', {
      cause: error,
    });
  }
}

export function isEtcdCallError(error: unknown): error is EtcdCallError {
  return error instanceof EtcdCallError;
}
