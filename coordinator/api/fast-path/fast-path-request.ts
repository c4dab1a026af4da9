import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHead } from './request-head';

/**
 * A request that has arrived as a whole, in the form that everything behind it reads of one that may still be arriving.
 */
export class FastPathRequest {
  readonly complete = true;
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    head: RequestHead,
    readonly body: Buffer,
    readonly socket: Socket,
  ) {
    this.method = head.method;
    this.url = head.target;
    this.headers = head.headers;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }
}

/** The body of a request that has arrived as a whole; null if it may still be arriving. */
export function fastPathBody(request: IncomingMessage): Buffer | null {
  return request instanceof (FastPathRequest as unknown as new () => never)
    ? (request as unknown as FastPathRequest).body
    : null;
}
