import { status } from '@grpc/grpc-js';

/**
 * What is known of a call that failed: `unreached`: it was never sent; `refused`: etcd answered and did nothing;
 * `unknown`: it was sent, and what became of it was not heard.
 */
export type EtcdFailure = 'unreached' | 'refused' | 'unknown';

/** Statuses by which etcd says that it applied nothing. All others may hide a change that was made. */
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

/** A call of etcd that failed, with its gRPC status code. */
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
    return new EtcdCallError(error.details, error.code, REFUSALS.has(error.code) ? 'refused' : 'unknown', { cause: error });
  }
}

export function isEtcdCallError(error: unknown): error is EtcdCallError {
  return error instanceof EtcdCallError;
}
