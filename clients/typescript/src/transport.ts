import { Deadline, pause } from './deadline';
import { successOf } from './envelope';
import { ApiError, ConnectionError, QuiverError, TimeoutError } from './errors';
import { isDoneOnce, newIdempotencyKey } from './idempotency';
import type { ApiRequest, CallOptions } from './request';
import { DEFAULT_RETRY_POLICY, mayHaveBeenDone, retryDelayMs, type RetryPolicy } from './retry';
import { WarningsOnce } from './warnings';

/** How to reach a service. */
export interface QuiverOptions {
  /**
   * Where the service is, with the path before `/v1` if a proxy puts one there. Default: the environment's
   * `QUIVER_URL`, else `http://localhost:8000`.
   */
  url?: string;
  /**
   * Sent as `x-api-key`, or as a bearer token if it looks like one; without any, only public endpoints answer. Default:
   * the environment's `QUIVER_API_KEY`.
   */
  apiKey?: string;
  /** In the place of `apiKey`: a bearer token, or what gives one. */
  token?: string | TokenProvider;
  /** Longest time for one attempt, until its answer is there whole; for streams, the longest pause. Default: 90,000. */
  timeoutMs?: number;
  /** Changes to {@link DEFAULT_RETRY_POLICY}; `{ retries: 0 }` sends everything once. */
  retry?: Partial<RetryPolicy>;
  /**
   * Gives every write a random `Idempotency-Key`, the same for all its attempts: so the service does it once, and it is
   * sent again also when its answer was lost. For services that know the header; earlier ones ignore it, and a repeated
   * write is done twice there. Default: false.
   */
  idempotencyKeys?: boolean;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /**
   * Takes what the service says about a request that it carried out: a field that it does not know, a filter by a field
   * that no item has, a text that is longer than the model reads. Default: `console.warn`, once for each kind. null:
   * nobody is told.
   */
  onWarning?: ((warning: string) => void) | null;
  /** Has the service refuse (422) what it would else warn of as a likely mistake of the request. Default: false. */
  strict?: boolean;
  /** Told before a request is sent again: how long that is put off, and why. */
  onWait?: (waitMs: number, error: Error) => void;
  /** In the place of the runtime's own `fetch`. */
  fetch?: typeof fetch;
}

/**
 * Gives the bearer token of the next request, and so is asked before each: it should keep a token until shortly before
 * that ends. `refused`: the service did not take the one before. A request that was refused is sent once more, with the
 * new one.
 */
export type TokenProvider = (why: { refused: boolean }) => string | Promise<string>;

/** A JSON Web Token: three parts, the first of which is a JSON object in base64url. */
const JSON_WEB_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;
/** What a header can hold; `fetch` takes blanks at its ends away, such as the line end of a file. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const UNAUTHENTICATED = 401;

/** Connections that were never made, by the names that Node, Bun and Deno have for that. */
const NO_CONNECTION = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
];
const IDEMPOTENCY_KEY = 'idempotency-key';
const DEFAULT_URL = 'http://localhost:8000';
/** More than the service allows itself (`REQUEST_TIMEOUT_MS`, a minute), so that its own error is what comes. */
const TIMEOUT_MS = 90_000;
/** How the service begins the envelope of a success. */
const SUCCESS_HEAD = '{"status":"success"';
/** The same of a stream of events. */
const EVENT_HEAD = 'event: ';
/** Characters after which an answer that has begun otherwise is none of the service's. */
const FOREIGN_MAX = 64 * 1024;

interface PiecesInProgress {
  first: string;
  /** null at the end. */
  next: () => Promise<string | null>;
  end: () => Promise<void>;
}

/** Sends requests with deadlines and repetitions, and takes envelopes apart. */
export class Transport {
  private readonly base: string;
  /** With the key: a field that no program can see, so neither `console.log` of a client nor its JSON shows it. */
  readonly #headers: Readonly<Record<string, string>>;
  private readonly tokens: TokenProvider | null;
  /** Whether the token that was sent last was refused. */
  private isRefused = false;
  private readonly timeoutMs: number;
  private readonly policy: RetryPolicy;
  private readonly hasKeys: boolean;
  private readonly onWarning: ((warning: string) => void) | null;
  private readonly onWait: ((waitMs: number, error: Error) => void) | undefined;
  private readonly fetch: typeof fetch;

  constructor(options: QuiverOptions) {
    this.base = baseOf(options.url ?? fromEnvironment('QUIVER_URL') ?? DEFAULT_URL);
    this.tokens = typeof options.token === 'function' ? options.token : null;
    const secret = options.token ?? options.apiKey ?? fromEnvironment('QUIVER_API_KEY');
    this.#headers = {
      ...(options.strict === true ? { 'x-strict': 'true' } : {}),
      ...options.headers,
      ...(typeof secret === 'string' ? credential(secret, secret === options.token) : {}),
    };
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
    this.hasKeys = options.idempotencyKeys ?? false;
    this.onWarning =
      options.onWarning === undefined
        ? new WarningsOnce((warning) => console.warn(`quiver: ${warning}`)).tell
        : options.onWarning;
    this.onWait = options.onWait;
    // Browsers want it called on the window.
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * The `data` of a success.
   *
   * Throws the error of an envelope (`ApiError`), {@link ConnectionError}, {@link TimeoutError} or
   * {@link BadAnswerError}, after the repetitions that it is worth; and the reason of a signal that fired.
   */
  async data<Data>(given: ApiRequest, callOptions: CallOptions = {}): Promise<Data> {
    const { request, options } = this.named(given, callOptions);
    const { data, warnings = [] } = await this.repeated(request, options, async (attempt) =>
      this.attempt(request, options, async (response) =>
        successOf<Data>(await response.text(), response, request, attempt),
      ),
    );
    this.warn(request, warnings);
    return data;
  }

  /** Tells what an envelope says besides. */
  warn({ method, path }: ApiRequest, warnings: readonly string[]): void {
    for (const warning of warnings) this.onWarning?.(`${method} ${path}: ${warning}`);
  }

  /** The request as one that is done once, where it may be. A key among the headers of the call counts in any case. */
  private named(request: ApiRequest, options: CallOptions): { request: ApiRequest; options: CallOptions } {
    if (!isDoneOnce(request.method, request.path)) return { request, options };
    const hasOwn = Object.keys(options.headers ?? {}).some((name) => name.toLowerCase() === IDEMPOTENCY_KEY);
    if (!hasOwn && !this.hasKeys) return { request, options };
    const headers = hasOwn ? options.headers : { ...options.headers, [IDEMPOTENCY_KEY]: newIdempotencyKey() };
    return {
      request: { ...request, isRepeatable: true },
      options: headers === undefined ? options : { ...options, headers },
    };
  }

  /** The text of an answer that has no envelope. */
  async text(request: ApiRequest, options: CallOptions = {}): Promise<string> {
    return this.repeated(request, options, async (attempt) =>
      this.attempt(request, options, async (response) => {
        const text = await response.text();
        if (response.ok && !text.startsWith('{"status":"error"')) return text;
        return successOf<never>(text, response, request, attempt).data;
      }),
    );
  }

  /** An answer as it is, whatever its status; sent once. */
  async whatever(request: ApiRequest, options: CallOptions = {}): Promise<{ type: string; text: string }> {
    return this.attempt(request, options, async (response) => ({
      type: response.headers.get('content-type') ?? '',
      text: await response.text(),
    }));
  }

  /** The text of an answer in pieces as they come, each within the timeout. Only the beginning is repeated. */
  async *pieces(request: ApiRequest, options: CallOptions = {}): AsyncGenerator<string> {
    const { next, end, first } = await this.repeated(request, options, async (attempt) =>
      this.begin(request, options, attempt),
    );
    try {
      for (let text: string | null = first; text !== null; text = await next()) yield text;
    } finally {
      // A consumer that had enough leaves no connection behind.
      await end();
    }
  }

  /** The first piece of a success, and what gives the others. */
  private async begin(request: ApiRequest, options: CallOptions, attempt: number): Promise<PiecesInProgress> {
    const watch = new Deadline(options.timeoutMs ?? this.timeoutMs, options.signal);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    const decoder = new TextDecoder();
    const next = async (): Promise<string | null> => {
      if (reader === undefined) return null;
      watch.restart();
      const { done, value } = await watch
        .within(reader.read())
        .catch((error: unknown) => this.failed(error, watch, request));
      watch.pause();
      return done ? null : decoder.decode(value, { stream: true });
    };
    const end = async (): Promise<void> => {
      watch.end();
      await reader?.cancel().catch(() => undefined);
    };
    try {
      const response = await this.send(request, options, watch);
      reader = response.body?.getReader();
      let first = '';
      for (let text = await next(); text !== null; text = await next()) {
        first += text;
        if (first.startsWith(SUCCESS_HEAD) || first.startsWith(EVENT_HEAD)) return { first, next, end };
        if (first.length > FOREIGN_MAX) break;
      }
      successOf(first, response, request, attempt);
      return { first, next: async () => null, end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** Calls `send` until it succeeds or is not worth repeating. */
  private async repeated<Result>(
    request: ApiRequest,
    options: CallOptions,
    send: (attempt: number) => Promise<Result>,
  ): Promise<Result> {
    const policy = options.retries === undefined ? this.policy : { ...this.policy, retries: options.retries };
    const isRepeatable = request.isRepeatable ?? request.method === 'GET';
    // A body that was read once can't be sent again, whatever became of it.
    const retries = request.body?.isRepeatable === false ? 0 : policy.retries;
    let isAnswerLost = false;
    let isRenewed = false;
    for (let attempt = 0; ; attempt++) {
      options.signal?.throwIfAborted();
      try {
        return await send(attempt);
      } catch (error) {
        if (error instanceof ApiError) error.afterLostAnswer = isAnswerLost;
        if (
          this.tokens !== null &&
          !isRenewed &&
          request.body?.isRepeatable !== false &&
          error instanceof ApiError &&
          error.code === UNAUTHENTICATED
        ) {
          this.isRefused = isRenewed = true;
          // It is no attempt that the policy counts: nothing was wrong but the token.
          attempt--;
          continue;
        }
        isAnswerLost ||= mayHaveBeenDone(error);
        const delayMs = retryDelayMs(error, {
          policy: { ...policy, retries },
          attempt,
          isRepeatable,
          chance: Math.random(),
        });
        if (delayMs === null) throw error;
        this.onWait?.(delayMs, error as Error);
        await pause(delayMs, options.signal);
      }
    }
  }

  private async attempt<Result>(
    request: ApiRequest,
    options: CallOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const watch = new Deadline(options.timeoutMs ?? this.timeoutMs, options.signal);
    try {
      const response = await this.send(request, options, watch);
      request.body?.onAnswered?.();
      return await watch.within(read(response)).catch((error: unknown) => this.failed(error, watch, request));
    } finally {
      watch.end();
      // The rest of a body that was refused early goes nowhere.
      if (request.body !== undefined) watch.stop();
    }
  }

  /** Sends once, and resolves when the head of the answer is there. */
  private async send(request: ApiRequest, options: CallOptions, watch: Deadline): Promise<Response> {
    const { method, json, body } = request;
    const headers: Record<string, string> = { ...this.#headers, ...options.headers };
    if (this.tokens !== null) Object.assign(headers, credential(await watch.within(this.token(this.tokens)), true));
    // The key goes to this address only; fetch would take it along to wherever an answer points.
    const init: RequestInit & { duplex?: 'half' } = { method, headers, signal: watch.signal, redirect: 'manual' };
    if (json !== undefined) {
      headers['content-type'] = 'application/json';
      init.body =
        typeof json === 'string' || json instanceof Uint8Array ? (json as RequestInit['body']) : JSON.stringify(json);
    } else if (body !== undefined) {
      headers['content-type'] = body.contentType;
      init.body = body.open(() => watch.restart());
      // Needed for streams, which are sent before the answer comes.
      init.duplex = 'half';
    }
    watch.restart();
    return watch
      .within(this.fetch(this.base + request.path + queryText(request.query), init))
      .catch((error: unknown) => this.failed(error, watch, request));
  }

  private async token(provider: TokenProvider): Promise<string> {
    const refused = this.isRefused;
    this.isRefused = false;
    return provider({ refused });
  }

  /** Throws what a failure of `fetch` means. */
  private failed(error: unknown, watch: Deadline, { method, path, body }: ApiRequest): never {
    if (error instanceof QuiverError) throw error;
    watch.throwIfGivenUp();
    const failure = body?.failure?.();
    if (failure !== undefined && failure !== null) throw failure.error;
    if (watch.isOver)
      throw new TimeoutError(`${method} ${path}: no answer within ${watch.timeoutMs} ms`, { cause: error });
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const code = cause?.code ?? (error as { code?: string }).code;
    const reason = [error instanceof Error ? error.message : String(error), cause?.message]
      .filter((text) => text !== undefined && text !== '')
      .join(': ');
    throw new ConnectionError(`${method} ${path}: no answer from ${this.base}: ${reason}`, {
      cause: error,
      mayHaveArrived: code === undefined || !NO_CONNECTION.includes(code),
    });
  }
}

/**
 * The header of a key, or of a token. Throws a TypeError for one that no header can hold: `fetch` would show it in its
 * error.
 */
function credential(given: string, isToken: boolean): Record<string, string> {
  const secret = given.trim();
  if (!HEADER_VALUE.test(secret))
    throw new TypeError(
      `the ${isToken ? 'token' : 'key'} has a character that it can't have, such as the end of a line`,
    );
  return isToken || JSON_WEB_TOKEN.test(secret) ? { authorization: `Bearer ${secret}` } : { 'x-api-key': secret };
}

/** Browsers have no environment, and Deno may keep it to itself. */
function fromEnvironment(name: string): string | undefined {
  try {
    const value = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
    return value === '' ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Throws a TypeError for an address that is none, rather than at the first call. `localhost:8000` is one with a strange
 * scheme. Nor may it hold a user or a password: `fetch` would refuse it, and show them in its error.
 */
function baseOf(url: string): string {
  const shown = JSON.stringify(url.replace(/^([^/?#]*)\/\/[^/?#]*@/, '$1//'));
  let address: URL;
  try {
    address = new URL(url);
  } catch {
    throw new TypeError(`the url is no address: ${shown}`);
  }
  if (address.protocol !== 'http:' && address.protocol !== 'https:')
    throw new TypeError(`the url must begin with http:// or https://, not ${shown}`);
  if (address.username !== '' || address.password !== '')
    throw new TypeError(`the url must have no user and no password; a key is given as apiKey: ${shown}`);
  return address.href.replace(/\/+$/, '');
}

function queryText(query: ApiRequest['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
}
