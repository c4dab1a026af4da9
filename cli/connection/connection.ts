import { NoAnswerError, ServiceError } from './service-error';
import type { Target } from './target';

export interface ApiCallOptions {
  query?: Record<string, string | number>;
  /** Sent as JSON; a string or bytes are JSON already. */
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface Envelope {
  status: 'success' | 'error';
  data: unknown;
  error: { code: number; message: string } | null;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Calls of the public API. Nothing is sent twice here: who may repeat a call, and how often, is its caller's to know. */
export class Connection {
  constructor(
    readonly target: Target,
    private readonly timeoutMs = DEFAULT_TIMEOUT_MS,
    /** Ends every call. */
    private readonly signal?: AbortSignal,
  ) {}

  /** Answers `data` of the envelope; throws ServiceError or NoAnswerError. */
  async call<Data = any>(method: string, path: string, options: ApiCallOptions = {}): Promise<Data> {
    const { url, apiKey } = this.target;
    const query = new URLSearchParams(Object.entries(options.query ?? {}).map(([name, value]): [string, string] => [name, String(value)])).toString();
    const isJson = typeof options.body === 'string' || options.body instanceof Uint8Array;
    const body = options.body === undefined || isJson ? (options.body as string | undefined) : JSON.stringify(options.body);
    const stops = [options.signal, this.signal].filter((signal) => signal !== undefined);
    const deadline = AbortSignal.timeout(options.timeoutMs ?? this.timeoutMs);
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(`${url}${path}${query === '' ? '' : `?${query}`}`, {
        method,
        headers: { ...(apiKey === null ? {} : { 'x-api-key': apiKey }), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body,
        signal: AbortSignal.any([deadline, ...stops]),
      });
      text = await answer.text();
    } catch (error) {
      if (stops.some(({ aborted }) => aborted)) throw error;
      const { name, message, cause } = error as Error & { cause?: Error };
      throw new NoAnswerError(name === 'TimeoutError' ? `no answer from ${url} in time` : `no answer from ${url}: ${cause?.message || message}`, { cause: error });
    }
    return dataOf<Data>(url, answer, text);
  }
}

function dataOf<Data>(url: string, answer: Response, text: string): Data {
  let envelope: Envelope | null = null;
  try {
    envelope = JSON.parse(text) as Envelope;
  } catch {
    // Not of Quiver: a proxy's page, or nothing at all.
  }
  if (envelope === null || (envelope.status !== 'success' && envelope.status !== 'error')) {
    if (answer.status >= 500) throw new ServiceError(`${url} answered with HTTP status ${answer.status}`, answer.status);
    throw new NoAnswerError(`what answers at ${url} is not Quiver (HTTP status ${answer.status})`);
  }
  if (envelope.error === null || envelope.error === undefined) return envelope.data as Data;
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  throw new ServiceError(envelope.error.message, envelope.error.code, Number.isFinite(seconds) ? seconds * 1000 : null);
}

/** A path of segments that are encoded. */
export function urlPath(...segments: string[]): string {
  return `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function collectionUrl(collection: string, ...segments: string[]): string {
  return urlPath('v1', 'collections', collection, ...segments);
}
