import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isQuiverError } from '../../shared/errors/quiver-error';
import type { Clock } from '../../shared/time/clock';
import type { RateDecision } from '../limits/rate-limiter';
import { ClientGone } from './body/client-gone';
import { discardBody } from './body/discard-body';
import { announcedLength } from './body/read-body';
import type { Answer, WorkedTime } from './endpoint';
import { errorEnvelope, publicError, SUCCESS_HEAD, SUCCESS_TAIL, successEnvelope } from './envelope';
import type { RequestObserver } from './observer';
import { TURN_MS, type Turns } from './turns';

const JSON_TYPE = 'application/json; charset=utf-8';
/** A caller's own request id that is safe in a header and in a log line. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;
/** Rest of a refused body that is cheaper to read away than a new connection is to make. */
const KEEP_ALIVE_REST_MAX = 1024 * 1024;
/** Seconds after which a client that was told "server busy" may try again. */
const BUSY_RETRY_SECONDS = 1;
/** Pieces are gathered up to this many characters: fewer, larger writes. An answer that ends before has its length announced. */
const WRITE_CHARACTERS = 64 * 1024;

/** One request and its answer: writes exactly one answer, in every case, and tells the observer about it once. */
export class Exchange {
  readonly requestId: string;
  /** Facts that the pipeline fills in as it learns them. */
  endpoint = 'unmatched';
  isAdministrative = false;
  keyId: number | null = null;
  rate: RateDecision | null = null;
  parseMs = 0;
  /** When the handler was called, monotonic. */
  handedMs = 0;
  /** Whether the client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;

  /** The connection ends with this answer; known once its head is written. Node's `shouldKeepAlive` does not tell. */
  private isLast = false;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly clock: Clock;
  private readonly observer: RequestObserver;
  private readonly isDraining: () => boolean;
  private readonly turns: Turns;
  private readonly stallTimeoutMs: number;
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
    turns: Turns;
    /** Longest that the client may take nothing of its answer. */
    stallTimeoutMs: number;
  }) {
    this.request = options.request;
    this.response = options.response;
    this.clock = options.clock;
    this.observer = options.observer;
    this.awaitsContinue = options.awaitsContinue;
    this.isDraining = options.isDraining;
    this.turns = options.turns;
    this.stallTimeoutMs = options.stallTimeoutMs;
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
      case 'pieces':
        this.worked = answer.worked ?? null;
        return this.answerInPieces(answer.pieces);
    }
  }

  /** Whether nobody is there to take the answer. */
  get isGone(): boolean {
    return this.response.destroyed;
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

  private send(text: string | Buffer, contentType: string, retryAfterSeconds: number | null = null): void {
    const headers = this.headers(contentType);
    headers['content-length'] = Buffer.byteLength(text);
    if (retryAfterSeconds !== null) headers['retry-after'] = String(retryAfterSeconds);
    this.begin(headers);
    this.end(text);
  }

  /** Writes the head. A connection with much of a body still to come ends with this answer, and the head says so. */
  private begin(headers: OutgoingHttpHeaders): void {
    if (!this.request.complete && this.unreadBytes() > KEEP_ALIVE_REST_MAX) headers.connection = 'close';
    this.isLast = headers.connection === 'close' || !this.response.shouldKeepAlive;
    this.response.writeHead(200, headers);
  }

  /** Bytes of the body that may still come; infinite when not known. */
  private unreadBytes(): number {
    // A client that was not invited may send its body or the next request: they could not be told apart.
    if (this.awaitsContinue && !this.continued) return Infinity;
    const announced = announcedLength(this.request);
    return announced === 'chunked' ? Infinity : announced;
  }

  /** Writes the last of the answer. What is left of the body is read away, or the next request would not be heard. */
  private end(text: string | Buffer): void {
    const { request, response } = this;
    if (request.complete || (this.awaitsContinue && !this.continued)) {
      response.end(text);
    } else if (!this.isLast) {
      response.end(text);
      void discardBody(request).then(() => {
        // A rest that does not come must not be taken for the next request.
        if (!request.complete) request.socket.destroy();
      });
    } else {
      response.write(text);
      void discardBody(request).then(() => response.end());
    }
    // The system mostly takes a small answer at once.
    if (response.writableEnded && response.writableLength > 0) void this.progress('finish');
  }

  private async answerInPieces(pieces: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
    let startedMs = this.clock.monotonicMs();
    let text = SUCCESS_HEAD;
    let isBegun = false;
    for (;;) {
      // Awaiting what is no promise would cost small answers.
      const step = iterator.next();
      const { done, value } = step instanceof Promise ? await step : step;
      if (done) break;
      text += value;
      if (text.length < WRITE_CHARACTERS) continue;
      // Errors up to here still get their envelope.
      if (!isBegun) this.begin(this.headers(JSON_TYPE));
      isBegun = true;
      if (!(await this.write(text))) {
        await iterator.return?.();
        return this.observe(200, null);
      }
      text = '';
      if (this.clock.monotonicMs() - startedMs > TURN_MS) {
        await this.turns.next();
        startedMs = this.clock.monotonicMs();
      }
    }
    text += SUCCESS_TAIL;
    if (isBegun) this.end(text);
    else this.send(text, JSON_TYPE);
    this.observe(200, null);
  }

  /** Writes, and waits until the client has taken enough of it; answers whether it is still there. */
  private async write(text: string): Promise<boolean> {
    if (!this.response.destroyed && !this.response.write(text)) await this.progress('drain');
    return !this.response.destroyed;
  }

  /**
   * Waits for the client to take what was written (as far as the system says: its buffers hold some more), or to go away.
   * One that takes nothing for too long is cut off, so that it can't hold what its answer holds.
   */
  private progress(event: 'drain' | 'finish'): Promise<void> {
    const { response } = this;
    return new Promise<void>((resolve) => {
      const go = (): void => {
        clearTimeout(stall);
        response.off(event, go);
        response.off('close', go);
        resolve();
      };
      const stall = setTimeout(() => {
        // Without a socket it waits for an earlier answer of the same connection, which is watched itself.
        if (response.socket === null) stall.refresh();
        else response.destroy();
      }, this.stallTimeoutMs);
      response.on(event, go);
      response.on('close', go);
    });
  }

  private headers(contentType: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { 'content-type': contentType, 'x-request-id': this.requestId, 'x-content-type-options': 'nosniff' };
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
      isAdministrative: this.isAdministrative,
      steps: this.worked === null ? null : { parseMs: this.parseMs, serialiseMs: Math.max(0, nowMs - this.handedMs - this.worked.totalMs) },
      error,
    });
  }
}
