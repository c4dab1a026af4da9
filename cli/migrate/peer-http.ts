import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, EXIT_CODES } from '../command-error';
import { LARGE_INTEGERS, parseLossless } from '../formats/json/lossless-json';
import { Backoff } from '../writing/backoff';
import type { ItemFindings } from './finding';

/** A peer refused, or answered what can't be read. `status` is HTTP's, null where there is none. */
export class PeerError extends CommandError {
  constructor(
    message: string,
    readonly status: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, status === 401 || status === 403 ? EXIT_CODES.denied : EXIT_CODES.failed, options);
    this.name = 'PeerError';
  }
}

/** A page of a thousand vectors of 16,384 numbers takes some 300 MB as JSON. */
const ANSWER_BYTES_MAX = 500_000_000;
const CALL_TIMEOUT_MS = 120_000;
/** Before a peer has ever answered, more likely the address is wrong than the peer busy. */
const FIRST_PATIENCE_MS = 5000;
/** How much of a peer's own words goes into an error. */
const QUOTED_MAX = 300;

export interface PeerHttpOptions {
  url: URL;
  headers: Record<string, string>;
  patienceMs: number;
  signal: AbortSignal;
  /** Told of waits, so that a person sees why nothing moves. */
  onWait?: (reason: string, waitMs: number) => void;
}

/**
 * Calls of a peer's HTTP API, all of them reads. What may pass (no connection, 429, 5xx) is tried again with longer and
 * longer waits until `patienceMs` are over; then, and for everything else, a PeerError tells what the peer said.
 */
export class PeerHttp {
  private readonly base: string;
  private hasAnswered = false;

  constructor(private readonly options: PeerHttpOptions) {
    this.base = options.url.href.replace(/\/+$/, '');
  }

  /** `findings` are told of integers that became strings of their digits. */
  get<Answer>(path: string, findings?: ItemFindings): Promise<Answer> {
    return this.call<Answer>('GET', path, undefined, findings);
  }

  /** `body` is sent as JSON; a string is JSON already. */
  post<Answer>(path: string, body: unknown, findings?: ItemFindings): Promise<Answer> {
    return this.call<Answer>('POST', path, typeof body === 'string' ? body : JSON.stringify(body), findings);
  }

  private async call<Answer>(method: string, path: string, body?: string, findings?: ItemFindings): Promise<Answer> {
    const backoff = firstOrLater(this.options.patienceMs, this.hasAnswered);
    for (;;) {
      const tried = await this.once(method, path, body, findings);
      if ('answer' in tried) {
        this.hasAnswered = true;
        return tried.answer as Answer;
      }
      const wait = tried.isPassing ? backoff.next(tried.retryAfterMs) : null;
      if (wait === null) throw tried.error;
      this.options.onWait?.(tried.error.message, wait);
      await sleep(wait, undefined, { signal: this.options.signal });
    }
  }

  private async once(
    method: string,
    path: string,
    body?: string,
    findings?: ItemFindings,
  ): Promise<{ answer: unknown } | { error: PeerError; isPassing: boolean; retryAfterMs: number | null }> {
    const { headers, signal } = this.options;
    const where = `${method} ${this.base}${path.replace(/\?.*/, '')}`;
    let response: Response;
    let text: string;
    // Node 20 frees a timeout that is only named in `any`, and it never aborts: a timer holds this one.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('not in time', 'TimeoutError')), CALL_TIMEOUT_MS);
    try {
      response = await fetch(this.base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body,
        // A key goes to the peer's address only; fetch would take it along to wherever an answer points.
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
      });
      text = await textOf(response, where);
    } catch (error) {
      if (signal.aborted || error instanceof PeerError) throw error;
      const { name, message, cause } = error as Error & { cause?: Error };
      return {
        error: new PeerError(
          `${where}: ${name === 'TimeoutError' ? 'no answer in time' : cause?.message || message}`,
          null,
          { cause: error },
        ),
        isPassing: true,
        retryAfterMs: null,
      };
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) {
      const location = response.status < 400 ? response.headers.get('location') : null;
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      return {
        error: new PeerError(
          `${where}: HTTP status ${response.status}: ${quoted(location === null ? text : `it is at ${location} now; give that address`)}`,
          response.status,
        ),
        isPassing: response.status === 429 || response.status >= 500,
        retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
      };
    }
    try {
      return { answer: parseLossless(text, () => findings?.add('numbers', 'changed', LARGE_INTEGERS)) };
    } catch (error) {
      throw new PeerError(`${where}: the answer is not JSON: ${quoted(text)}`, response.status, { cause: error });
    }
  }
}

/** Waits between tries: shorter ones before the peer has ever answered. */
export function firstOrLater(patienceMs: number, hasAnswered: boolean): Backoff {
  return new Backoff(hasAnswered ? patienceMs : Math.min(patienceMs, FIRST_PATIENCE_MS));
}

/** The text of an answer, given up on when it is longer than any may be. */
async function textOf(response: Response, where: string): Promise<string> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let bytes = 0;
  // Leaving the loop ends the connection.
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX)
      throw new PeerError(
        `${where}: an answer of more than ${ANSWER_BYTES_MAX} bytes is too long; --page-size asks for fewer items at once`,
      );
    texts.push(decoder.decode(piece, { stream: true }));
  }
  texts.push(decoder.decode());
  return texts.join('');
}

/** A peer's words, on one line and without what would move the cursor. */
function quoted(text: string): string {
  return text
    .slice(0, QUOTED_MAX)
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
}

/** The header of HTTP's basic authentication, where user and password are given. */
export function basicAuthorization(user: string | null, password: string | null): Record<string, string> {
  return user === null ? {} : { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` };
}
