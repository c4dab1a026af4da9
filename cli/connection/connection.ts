import { QuiverClient } from '../../clients/typescript/src/client';
import type { CallOptions } from '../../clients/typescript/src/request';
import { Transport } from '../../clients/typescript/src/transport';
import { directFetch } from './direct-fetch';
import { commandErrorFrom } from './service-error';
import type { Target } from './target';

/** One call that the client has no method for, or none that takes JSON as it is. */
export interface ApiCall extends CallOptions {
  query?: Record<string, string | number>;
  /** Sent as JSON; a text, and bytes, are JSON already. */
  body?: unknown;
}

type ApiMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A service, by the client for programs. */
export class Connection {
  readonly client: QuiverClient;
  private readonly transport: Transport;

  constructor(
    readonly target: Target,
    timeoutMs: number,
    /** Ends every call. */
    signal: AbortSignal,
  ) {
    const fetchUntilStopped: typeof fetch = async (input, init) => directFetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) });
    // One repetition for a connection that an idle service closed; a person would rather see an error than wait.
    const options = {
      url: target.url,
      apiKey: target.apiKey ?? undefined,
      timeoutMs,
      retry: { retries: 1 },
      headers: { 'user-agent': 'quiver-command-line' },
      fetch: fetchUntilStopped,
      onWarning: null,
    };
    this.client = new QuiverClient(options);
    this.transport = new Transport(options);
  }

  /** Answers `data` of the envelope; throws ServiceError or NoAnswerError. A call that may not be made twice is sent once. */
  async call<Data = any>(method: ApiMethod, path: string, { query, body, ...options }: ApiCall = {}): Promise<Data> {
    return this.transport.data<Data>({ method, path, query, json: body }, options).catch((error: Error) => {
      throw commandErrorFrom(error);
    });
  }
}

/** A path of segments that are encoded. */
export function urlPath(...segments: string[]): string {
  return `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function collectionUrl(collection: string, ...segments: string[]): string {
  return urlPath('v1', 'collections', collection, ...segments);
}
