import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isQuiverError } from '../../shared/errors/quiver-error';
import type { Clock } from '../../shared/time/clock';
import type { RateDecision } from '../limits/rate-limiter';
import { announcedLength, ClientGone } from './body/read-body';
import { discardBody } from './body/discard-body';
import type { Answer, WorkedTime } from './endpoint';
import { errorEnvelope, publicError, SUCCESS_HEAD, SUCCESS_TAIL, successEnvelope } from './envelope';
import type { RequestObserver } from './observer';

const JSON_TYPE = 'application/json; charset=utf-8';
/** A caller's own request id that is safe in a header and in a log line. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;
/** Rest of a refused body that is cheaper to read away than a new connection is to make. */
const KEEP_ALIVE_REST_MAX = 1024 * 1024;
/** Seconds after which a client that was told "server busy" may try again. */
const BUSY_RETRY_SECONDS = 1;
/** Stream pieces are gathered up to this many characters: fewer, larger writes. */
const WRITE_CHARACTERS = 64 * 1024;

/** One request and its answer: writes exactly one answer, in every case, and tells the observer about it once. */
export class Exchange {
  readonly requestId: string;
  /** Facts that the pipeline fills in as it learns them. */
  endpoint = 'unmatched';
  keyId: number | null = null;
  rate: RateDecision | null = null;
  parseMs = 0;
  /** When the handler was called, monotonic. */
  handedMs = 0;
  /** Whether the client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;

  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly clock: Clock;
  private readonly observer: RequestObserver;
  private readonly isDraining: () => boolean;
  private readonly startedMs: number;
  private continued = false;
  private observed = false;
  private worked: WorkedTime | null = null;

  constructor(options: {
    request: IncomingMessage;
    response: ServerResponse;
    clock: Clock;
    observer: RequestObserver;
    awaitsContinue: boolean;
    /** Whether the server is closing, so that connections end with their answer. */
    isDraining: () => boolean;
  }) {
    this.request = options.request;
    this.response = options.response;
    this.clock = options.clock;
    this.observer = options.observer;
    this.awaitsContinue = options.awaitsContinue;
    this.isDraining = options.isDraining;
    this.startedMs = this.clock.monotonicMs();
    const given = this.request.headers['x-request-id'];
    this.requestId = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
    // A client that hangs up makes late writes fail with an event, which would end the process if nobody listened.
    this.response.on('error', () => undefined);
  }

  /** Lets a waiting client send its body. */
  invite(): void {
    if (!this.awaitsContinue || this.continued) return;
    this.continued = true;
    this.response.writeContinue();
  }

  async answer(answer: Answer): Promise<void> {
    switch (answer.type) {
      case 'data':
        this.worked = answer.worked ?? null;
        this.send(successEnvelope(answer.json), JSON_TYPE);
        return this.observe(200, null);
      case 'text':
        this.send(answer.text, answer.contentType);
        return this.observe(200, null);
      case 'stream':
        return this.stream(answer.pieces);
    }
  }

  /** Answers with the error's envelope, or breaks off an answer that has begun. */
  fail(error: unknown): void {
    if (error instanceof ClientGone) {
      this.response.destroy();
      return this.observe(400, null);
    }
    const { code, message } = publicError(error);
    if (this.response.headersSent) {
      this.response.destroy();
    } else {
      this.send(errorEnvelope(code, message), JSON_TYPE, this.retryAfter(error));
    }
    this.observe(code, code === 500 ? error : null);
  }

  private retryAfter(error: unknown): number | null {
    if (!isQuiverError(error)) return null;
    if (error.kind === 'rate_limited') return Math.max(1, this.rate?.resetSeconds ?? 1);
    return error.kind === 'overloaded' ? BUSY_RETRY_SECONDS : null;
  }

  private send(text: string, contentType: string, retryAfterSeconds: number | null = null): void {
    const headers = this.headers(contentType);
    headers['content-length'] = Buffer.byteLength(text);
    if (retryAfterSeconds !== null) headers['retry-after'] = String(retryAfterSeconds);
    const unread = this.unreadBytes();
    if (unread <= KEEP_ALIVE_REST_MAX) {
      this.response.writeHead(200, headers);
      // Node itself reads the rest of the body away.
      this.response.end(text);
      return;
    }
    headers.connection = 'close';
    this.response.writeHead(200, headers);
    if (this.awaitsContinue && !this.continued) {
      this.response.end(text);
      return;
    }
    this.response.write(text);
    void discardBody(this.request).then(() => this.response.end());
  }

  /** Bytes of the body that may still come; infinite when not known. */
  private unreadBytes(): number {
    if (this.request.complete) return 0;
    const announced = announcedLength(this.request);
    return announced === 'chunked' ? Infinity : announced;
  }

  private async stream(pieces: AsyncIterable<string>): Promise<void> {
    const iterator = pieces[Symbol.asyncIterator]();
    // Errors up to the first piece still get their envelope.
    let next = await iterator.next();
    this.response.writeHead(200, this.headers(JSON_TYPE));
    let text = SUCCESS_HEAD;
    while (!next.done) {
      text += next.value;
      if (text.length >= WRITE_CHARACTERS) {
        await this.write(text);
        text = '';
      }
      if (this.response.destroyed) {
        await iterator.return?.();
        return this.observe(200, null);
      }
      next = await iterator.next();
    }
    this.response.end(`${text}${SUCCESS_TAIL}`);
    this.observe(200, null);
  }

  /** Writes, and waits until the client has taken enough of it, or is gone. */
  private async write(text: string): Promise<void> {
    if (this.response.destroyed || this.response.write(text)) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        this.response.off('drain', go);
        this.response.off('close', go);
        resolve();
      };
      this.response.on('drain', go);
      this.response.on('close', go);
    });
  }

  private headers(contentType: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { 'content-type': contentType, 'x-request-id': this.requestId };
    // Without a limit there is no quota to speak of.
    if (this.rate !== null && this.rate.limit > 0) {
      headers['ratelimit-limit'] = this.rate.limit;
      headers['ratelimit-remaining'] = this.rate.remaining;
      headers['ratelimit-reset'] = this.rate.resetSeconds;
    }
    if (this.isDraining()) headers.connection = 'close';
    return headers;
  }

  private observe(code: number, error: unknown): void {
    if (this.observed) return;
    this.observed = true;
    const nowMs = this.clock.monotonicMs();
    this.observer.requestAnswered({
      requestId: this.requestId,
      method: this.request.method ?? '',
      endpoint: this.endpoint,
      code,
      durationMs: nowMs - this.startedMs,
      keyId: this.keyId,
      steps: this.worked === null ? null : { parseMs: this.parseMs, serialiseMs: Math.max(0, nowMs - this.handedMs - this.worked.totalMs) },
      error,
    });
  }
}
