import { apiError, BadAnswerError, ConnectionError, QuiverError, TimeoutError } from './errors';
import { DEFAULT_RETRY_POLICY, retryDelayMs, type RetryPolicy } from './retry';

/** How to reach a service. */
export interface QuiverOptions {
  /** Where the service is, with the path before `/v1` if a proxy puts one there: `http://localhost:8000`. */
  url: string;
  /** Sent as `x-api-key`; left out, only public endpoints answer. */
  apiKey?: string;
  /** Longest time for one attempt, until its answer is there whole; for streams, the longest pause. Default: 60,000. */
  timeoutMs?: number;
  /** Changes to {@link DEFAULT_RETRY_POLICY}; `{ retries: 0 }` sends everything once. */
  retry?: Partial<RetryPolicy>;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** In the place of the runtime's own `fetch`. */
  fetch?: typeof fetch;
}

/** What every method takes as its last argument. */
export interface CallOptions {
  /** Ends the call, also while it waits to be repeated; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** In the place of the client's. */
  timeoutMs?: number;
  /** In the place of the client's. */
  retries?: number;
  /** Sent besides the client's: `x-request-id`, say, for the service's log. */
  headers?: Record<string, string>;
}

/** One request, before it is sent. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Of the template's segments, each encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON; a text is JSON already. */
  json?: unknown;
  /** Anything else; a function makes a new one for each attempt. */
  body?: { contentType: string; open: () => NonNullable<RequestInit['body']>; isRepeatable: boolean };
  /** Whether carrying it out twice is the same as once. Default: true for GET. */
  isRepeatable?: boolean;
}

/** Connections that were never made, by the names that Node, Bun and Deno have for that. */
const NO_CONNECTION = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'ConnectionRefused'];
/** Characters of a foreign answer that its error shows. */
const SHOWN_MAX = 200;
const TIMEOUT_MS = 60_000;
/** How the service begins the envelope of a success. */
const SUCCESS_HEAD = '{"status":"success"';
/** Characters after which an answer that has begun otherwise is none of the service's. */
const FOREIGN_MAX = 64 * 1024;

interface Envelope {
  status: 'success' | 'error';
  data: unknown;
  error: { code: number; message: string } | null;
}

interface PiecesInProgress {
  first: string;
  /** null at the end. */
  next: () => Promise<string | null>;
  cancel: () => Promise<void>;
}

/** Sends requests with deadlines and repetitions, and takes envelopes apart. */
export class Transport {
  private readonly base: string;
  private readonly headers: Record<string, string>;
  private readonly timeoutMs: number;
  private readonly policy: RetryPolicy;
  private readonly fetch: typeof fetch;

  constructor(options: QuiverOptions) {
    // A clear error for an address that is none, rather than one of the first call.
    const { href } = new URL(options.url);
    this.base = href.replace(/\/+$/, '');
    this.headers = { ...options.headers, ...(options.apiKey === undefined ? {} : { 'x-api-key': options.apiKey }) };
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
    // Browsers want it called on the window.
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * The `data` of a success.
   *
   * Throws the error of an envelope (`ApiError`), {@link ConnectionError}, {@link TimeoutError} or
   * {@link BadAnswerError}, after the repetitions that it is worth; and the reason of a signal that fired.
   */
  async data<Data>(request: ApiRequest, options: CallOptions = {}): Promise<Data> {
    return this.repeated(request, options, async (attempt) => this.attempt(request, options, async (response) => dataOf<Data>(await response.text(), response, request, attempt)));
  }

  /** The text of an answer that has no envelope. */
  async text(request: ApiRequest, options: CallOptions = {}): Promise<string> {
    return this.repeated(request, options, async (attempt) =>
      this.attempt(request, options, async (response) => {
        const text = await response.text();
        if (response.ok && !text.startsWith('{"status":"error"')) return text;
        return dataOf<never>(text, response, request, attempt);
      }),
    );
  }

  /** The text of an answer in pieces as they come, each within the timeout. Only the beginning is repeated. */
  async *pieces(request: ApiRequest, options: CallOptions = {}): AsyncGenerator<string> {
    const watch = new Deadline(options.timeoutMs ?? this.timeoutMs, options.signal);
    try {
      const { next, cancel, first } = await this.repeated(request, options, async (attempt) => this.begin(request, options, watch, attempt));
      try {
        for (let text: string | null = first; text !== null; text = await next()) yield text;
      } finally {
        // A consumer that had enough leaves no connection behind.
        await cancel();
      }
    } finally {
      watch.end();
    }
  }

  /** The first piece of a success, and what gives the others. */
  private async begin(request: ApiRequest, options: CallOptions, watch: Deadline, attempt: number): Promise<PiecesInProgress> {
    const response = await this.send(request, options, watch);
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    const next = async (): Promise<string | null> => {
      if (reader === undefined) return null;
      watch.restart();
      const { done, value } = await reader.read().catch((error: unknown) => this.failed(error, watch, request));
      watch.pause();
      return done ? null : decoder.decode(value, { stream: true });
    };
    const cancel = async (): Promise<void> => reader?.cancel().catch(() => undefined);
    let first = '';
    for (let text = await next(); text !== null; text = await next()) {
      first += text;
      if (first.startsWith(SUCCESS_HEAD)) return { first, next, cancel };
      if (first.length > FOREIGN_MAX) break;
    }
    await cancel();
    dataOf(first, response, request, attempt);
    return { first, next: async () => null, cancel };
  }

  /** Calls `send` until it succeeds or is not worth repeating. */
  private async repeated<Result>(request: ApiRequest, options: CallOptions, send: (attempt: number) => Promise<Result>): Promise<Result> {
    const policy = options.retries === undefined ? this.policy : { ...this.policy, retries: options.retries };
    const isRepeatable = request.isRepeatable ?? request.method === 'GET';
    // A body that was read once can't be sent again, whatever became of it.
    const retries = request.body?.isRepeatable === false ? 0 : policy.retries;
    for (let attempt = 0; ; attempt++) {
      options.signal?.throwIfAborted();
      try {
        return await send(attempt);
      } catch (error) {
        const delayMs = retryDelayMs(error, { policy: { ...policy, retries }, attempt, isRepeatable, chance: Math.random() });
        if (delayMs === null) throw error;
        await pause(delayMs, options.signal);
      }
    }
  }

  private async attempt<Result>(request: ApiRequest, options: CallOptions, read: (response: Response) => Promise<Result>): Promise<Result> {
    const watch = new Deadline(options.timeoutMs ?? this.timeoutMs, options.signal);
    try {
      const response = await this.send(request, options, watch);
      return await read(response).catch((error: unknown) => this.failed(error, watch, request));
    } finally {
      watch.end();
    }
  }

  /** Sends once, and resolves when the head of the answer is there. */
  private async send(request: ApiRequest, options: CallOptions, watch: Deadline): Promise<Response> {
    const { method, json, body } = request;
    const headers: Record<string, string> = { ...this.headers, ...options.headers };
    const init: RequestInit & { duplex?: 'half' } = { method, headers, signal: watch.signal };
    if (json !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = typeof json === 'string' ? json : JSON.stringify(json);
    } else if (body !== undefined) {
      headers['content-type'] = body.contentType;
      init.body = body.open();
      // Needed for streams, which are sent before the answer comes.
      init.duplex = 'half';
    }
    watch.restart();
    return this.fetch(this.base + request.path + queryText(request.query), init).catch((error: unknown) => this.failed(error, watch, request));
  }

  /** Throws what a failure of `fetch` means. */
  private failed(error: unknown, watch: Deadline, { method, path }: ApiRequest): never {
    if (error instanceof QuiverError) throw error;
    watch.throwIfGivenUp();
    if (watch.isOver) throw new TimeoutError(`${method} ${path}: no answer within ${watch.timeoutMs} ms`, { cause: error });
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const code = cause?.code ?? (error as { code?: string }).code;
    const reason = [error instanceof Error ? error.message : String(error), cause?.message].filter((text) => text !== undefined && text !== '').join(': ');
    throw new ConnectionError(`${method} ${path}: no answer from ${this.base}: ${reason}`, { cause: error, mayHaveArrived: code === undefined || !NO_CONNECTION.includes(code) });
  }
}

/** A signal that fires after a time without a restart, or when the caller's does. */
class Deadline {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly give = (): void => this.controller.abort(this.given?.reason);
  isOver = false;

  constructor(
    readonly timeoutMs: number,
    private readonly given: AbortSignal | undefined,
  ) {
    if (given?.aborted === true) this.give();
    else given?.addEventListener('abort', this.give);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  restart(): void {
    this.pause();
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.controller.abort();
    }, this.timeoutMs);
  }

  pause(): void {
    clearTimeout(this.timer);
  }

  throwIfGivenUp(): void {
    this.given?.throwIfAborted();
  }

  end(): void {
    this.pause();
    this.given?.removeEventListener('abort', this.give);
  }
}

function dataOf<Data>(text: string, response: Response, { method, path }: ApiRequest, attempt: number): Data {
  const envelope = envelopeOf(text);
  if (envelope === null) {
    throw new BadAnswerError(`${method} ${path}: the answer is none of Quiver (HTTP status ${response.status}): ${text.slice(0, SHOWN_MAX)}`, { httpStatus: response.status });
  }
  if (envelope.status === 'success') return envelope.data as Data;
  const { code, message } = envelope.error ?? { code: 500, message: 'no error was given' };
  throw apiError(message, { code, requestId: response.headers.get('x-request-id'), retryAfterMs: retryAfterMs(response), method, path, attempts: attempt + 1 });
}

function envelopeOf(text: string): Envelope | null {
  try {
    const value = JSON.parse(text) as Partial<Envelope> | null;
    return typeof value === 'object' && value !== null && (value.status === 'success' || value.status === 'error') ? (value as Envelope) : null;
  } catch {
    return null;
  }
}

function retryAfterMs(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

function queryText(query: ApiRequest['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`]));
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

/** Resolves after a time; rejects with the reason of a signal that fires before. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
