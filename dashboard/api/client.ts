import { signal } from '@preact/signals';
import { BASE } from './base';
import { credential } from './credential';
import { readEvents } from './event-reader';
import type { AnswerOf, BodyOf, Operation } from './shapes';
import { session, signOut } from '../state/session';

/** A call of this page has an answer by then, or has failed. */
const CALL_DEADLINE_MS = 30_000;

/** Whether the server answered the last call. */
export const isReachable = signal(true);

/**
 * What is left of the requests that the page may make by itself in this minute; null before the first answer, or
 * without a limit.
 */
export const quota = signal<{ limit: number; remaining: number } | null>(null);

/** What the service said no with, by its code. */
export class ApiError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** No answer: the server is away, or something between. */
export class UnreachableError extends Error {
  constructor() {
    super('The server cannot be reached.');
  }
}

export interface CallOptions<Body = unknown> {
  body?: Body;
  /** Another key than the session's; null sends none. */
  key?: string | null;
  signal?: AbortSignal;
  deadlineMs?: number;
  /** Whether a person wrote it. */
  isRaw?: boolean;
}

interface Envelope {
  status: 'success' | 'error';
  data: unknown;
  error: { code: number; message: string } | null;
}

/**
 * One call of an operation of the API; answers `data`. Throws ApiError, UnreachableError, or AbortError when `signal`
 * aborts it. A key of the session that is refused ends the session.
 */
export async function call<Id extends Operation>(
  method: string,
  path: string,
  options: CallOptions<BodyOf<Id>> = {},
): Promise<AnswerOf<Id>> {
  const key = options.key === undefined ? (session.value?.key ?? null) : options.key;
  const envelope = await send(method, path, { ...options, key });
  if (envelope.status === 'success') return envelope.data as AnswerOf<Id>;
  const { code, message } = envelope.error ?? { code: 500, message: 'The server gave no reason.' };
  if (code === 401 && options.key === undefined && key !== null && key === session.value?.key)
    signOut(
      session.value?.keyId === null
        ? 'Your token has ended. Sign in again.'
        : 'Your key no longer works. Sign in again.',
    );
  throw new ApiError(code, message);
}

/**
 * The same of an operation that is asked to stream: `onEvent` hears of what comes before, and the answer is that of the
 * last event.
 */
export async function callEvents<Id extends Operation>(
  path: string,
  options: CallOptions<BodyOf<Id>> & { onEvent: (name: string, data: unknown) => void },
): Promise<AnswerOf<Id>> {
  const key = session.value?.key ?? null;
  const response = await request('POST', path, { ...options, key }, JSON.stringify(options.body));
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const { error } = (await response.json()) as Envelope;
    throw new ApiError(error?.code ?? 500, error?.message ?? 'The server gave no reason.');
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let envelope: Envelope | null = null;
  await readEvents(reader, (name, data) => {
    if (name === 'envelope') envelope = data as Envelope;
    else options.onEvent(name, data);
  });
  const { status, data, error } = (envelope ?? { status: 'error', data: null, error: null }) as Envelope;
  if (status === 'success') return data as AnswerOf<Id>;
  throw new ApiError(error?.code ?? 500, error?.message ?? 'The answer broke off.');
}

/** The answer as it came, of whatever status: for the console. */
export async function callRaw(
  method: string,
  path: string,
  body: string | undefined,
  stop: AbortSignal,
): Promise<{ status: number; type: string; text: string }> {
  const response = await request(method, path, { key: session.value?.key ?? null, signal: stop, isRaw: true }, body);
  return { status: response.status, type: response.headers.get('content-type') ?? '', text: await response.text() };
}

/** A text that needs no key. Throws ApiError when it is not there. */
export async function callText(url: string, stop: AbortSignal): Promise<string> {
  const response = await request('GET', url, { key: null, signal: stop }, undefined);
  const text = await response.text();
  if (!response.ok || text.startsWith('{"status":"error"')) throw new ApiError(404, `There is no ${url}.`);
  return text;
}

async function send(method: string, path: string, options: CallOptions): Promise<Envelope> {
  const response = await request(
    method,
    path,
    options,
    options.body === undefined ? undefined : JSON.stringify(options.body),
  );
  try {
    return (await response.json()) as Envelope;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw lost();
  }
}

async function request(
  method: string,
  path: string,
  options: CallOptions,
  body: string | undefined,
): Promise<Response> {
  // What only looks, and is not the console's, has a limit of its own.
  const isWatching = method === 'GET' && options.isRaw !== true;
  const deadline = AbortSignal.timeout(options.deadlineMs ?? CALL_DEADLINE_MS);
  const headers = new Headers({ accept: 'application/json' });
  if (typeof options.key === 'string') headers.set(...credential(options.key));
  if (isWatching) headers.set('x-quiver-dashboard', 'true');
  if (body !== undefined) headers.set('content-type', 'application/json');
  try {
    const response = await fetch(BASE + path, {
      method,
      headers,
      body,
      signal: options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]),
    });
    isReachable.value = true;
    if (isWatching) noteQuota(response.headers);
    return response;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw lost();
  }
}

function lost(): UnreachableError {
  isReachable.value = false;
  return new UnreachableError();
}

function noteQuota(headers: Headers): void {
  const limit = Number(headers.get('ratelimit-limit'));
  if (limit > 0) quota.value = { limit, remaining: Number(headers.get('ratelimit-remaining') ?? limit) };
}

/** A path with its parts encoded: `path('/v1/collections/', name, '/stats')`. Every second argument is data. */
export function path(...parts: (string | number)[]): string {
  return parts.map((part, i) => (i % 2 === 0 ? part : encodeURIComponent(part))).join('');
}

/** What to tell a person about a failure. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
