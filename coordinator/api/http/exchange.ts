import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallProfile } from '../../../shared/contract/shard/call-profile';
import type { Clock } from '../../../shared/base/time/clock';
import { ownTurn } from '../../../shared/base/time/work-slices';
import type { Span } from '../../../shared/base/trace/span';
import { contextFromHeaders, type TraceContext } from '../../../shared/base/trace/trace-context';
import { type Caller, identityOf } from '../../service/keys/caller';
import type { RateDecision } from '../../service/limits/rate-limiter';
import { type AnswerMemory, busy, type RequestHold } from '../load/answer-memory';
import { ClientGone } from '../body/client-gone';
import { discardBody } from '../body/discard-body';
import { announcedLength } from '../body/read-body';
import { hitsPieces } from '../answers/answer-json';
import type { AnswerRoom } from '../load/answer-room';
import type { Answer, AnswerEvents, BareAnswer, Endpoint, HitsAnswer, WorkedTime } from '../endpoints/endpoint';
import {
  errorEnvelope,
  jsonRpcError,
  publicError,
  SUCCESS_HEAD,
  successEnvelope,
  successTail,
} from '../answers/envelope';
import { StreamResponse } from '../connections/stream-response';
import type { RequestObserver, SlowBreakdown } from './observer';
import { type RequestProfile, profileOf, rounded, shortProfile } from '../answers/profile';
import { type PaceBounds, ReaderPace, TakenBytes } from '../connections/reader-pace';
import { newRequestId } from '../requests/request-id';
import { RequestWarnings } from '../requests/request-warnings';
import { REPLAYED_HEADER } from '../requests/request-once';
import { PREFERENCE_HEADER, statusPreference } from '../requests/status-preference';
import { FastPathResponse } from '../fast-path/fast-path-response';

const NO_BYTES = Buffer.alloc(0);
const JSON_TYPE = 'application/json; charset=utf-8';
const EVENTS_TYPE = 'text/event-stream; charset=utf-8';
/** The name of the event that has the envelope. */
const LAST_EVENT = 'envelope';
/** Proxies close connections on which nothing comes; of this, readers of events take no notice. */
const BEAT = ': \n\n';
const EVENTS_BEAT_MS = 15_000;
/** A caller's own request id that is safe in a header and in a log line. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;
/** If at most this much of a refused body is left, reading it costs less than a new connection. */
const KEEP_ALIVE_REST_MAX = 1024 * 1024;
/** Seconds after which a client that got "server busy" may try again. */
const BUSY_RETRY_SECONDS = 1;
const UNAUTHENTICATED = 401;
/** An answer 401 has to say how a request is authorised (RFC 9110, 11.6.1). */
const KEY_CHALLENGE = 'ApiKey realm="quiver", header="x-api-key"';
/**
 * Pieces are collected up to this many characters, for fewer and larger writes. An answer that ends before that has its
 * length in the head.
 */
const WRITE_CHARACTERS = 64 * 1024;
/** The same over HTTP/2, where only what was given at once shows whether it is taken. */
const STREAM_CHARACTERS = 16 * 1024;
/** An answer of so many bytes is sent whatever others hold: no more than a connection costs by itself. */
const SMALL_ANSWER_BYTES = 4 * 1024;

/** Calls of shards that the log of a slow request names. */
const LOGGED_CALLS_MAX = 8;

/** One request and its answer: writes exactly one answer in every case, and reports it to the observer once. */
export class Exchange {
  readonly requestId: string;
  /** Facts that the pipeline sets when it learns them. */
  endpoint = 'unmatched';
  isAdministrative = false;
  failsAs: Endpoint['failsAs'] = 'envelope';
  /** What is said to pages of other origins. */
  crossOrigin: OutgoingHttpHeaders | null = null;
  /** As Endpoint.vary. */
  vary = '';
  isWatched = false;
  /** The caller; null before it is known, and where there is none. */
  key: Caller | null = null;
  /** `www-authenticate` of an answer 401; null: none. */
  challenge: string | null = null;
  address: string | null = null;
  access: Endpoint['access'] | null = null;
  target: string | null = null;
  /** The collection that the request is about; null as long as none is known. */
  collection: string | null = null;
  rate: RateDecision | null = null;
  /** Whether the answer is that of an earlier request with the same Idempotency-Key. */
  isReplayed = false;
  parseMs = 0;
  /** When the request came, and when the handler was called; monotonic. */
  readonly startedMs: number;
  handedMs = 0;
  /** Of a request that was answered. */
  durationMs = 0;
  /** Where it is traced. */
  span: Span | null = null;
  /** Of one that is traced: when its body was begun to be read, and what ends the span of its answer. */
  readFromMs = 0;
  answering: (() => void) | null = null;
  bodyBytes = 0;
  /** What is noted of it; null where nobody looks. */
  callProfile: CallProfile | null = null;
  /** What the client should know about a request that succeeds. */
  readonly warnings = new RequestWarnings();
  /** Whether the client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;

  /**
   * Whether the connection ends with this answer; known once its head is written. Node's `shouldKeepAlive` does not
   * show it.
   */
  private isLast = false;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly clock: Clock;
  private readonly observer: RequestObserver;
  private readonly isDraining: () => boolean;
  private readonly pace: PaceBounds;
  private readonly memory: AnswerMemory;
  private readonly addressOf: (request: IncomingMessage) => string;
  private readonly slowMs: number;
  private readonly answers: AnswerRoom | undefined;
  private readonly hasRealStatuses: boolean;
  private continued = false;
  private observed = false;
  private worked: WorkedTime | null = null;
  private held: RequestHold | null = null;
  private reader: { pace: ReaderPace; taken: TakenBytes } | null = null;

  constructor(options: {
    request: IncomingMessage;
    response: ServerResponse;
    clock: Clock;
    observer: RequestObserver;
    awaitsContinue: boolean;
    /** Whether the server is closing, so that connections end with their answer. */
    isDraining: () => boolean;
    /** How slowly the client may take its answer. */
    pace: PaceBounds;
    /** Counts what answers hold. */
    memory: AnswerMemory;
    /** Who asks where there is no key; default: whoever opened the connection. */
    addressOf?: (request: IncomingMessage) => string;
    /** A request is slow that takes this long; default: none is. */
    slowMs?: number;
    /** Whether errors have their code as HTTP status where the request asks for neither; default: no. */
    hasRealStatuses?: boolean;
    /** Default: hits are written as strings. */
    answers?: AnswerRoom | undefined;
  }) {
    this.request = options.request;
    this.response = options.response;
    this.clock = options.clock;
    this.observer = options.observer;
    this.awaitsContinue = options.awaitsContinue;
    this.isDraining = options.isDraining;
    this.pace = options.pace;
    this.memory = options.memory;
    this.addressOf = options.addressOf ?? (({ socket }) => socket?.remoteAddress ?? '');
    this.slowMs = options.slowMs ?? Infinity;
    this.answers = options.answers;
    this.hasRealStatuses = options.hasRealStatuses ?? false;
    this.startedMs = this.clock.monotonicMs();
    const given = this.request.headers['x-request-id'];
    this.requestId = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : newRequestId();
    // If a client disconnects, late writes emit an error event, which would end the process if nobody listened.
    this.response.on('error', () => undefined);
  }

  /** Lets a waiting client send its body. */
  invite(): void {
    if (!this.awaitsContinue || this.continued) return;
    this.continued = true;
    this.response.writeContinue();
  }

  /** What its answer holds. */
  get hold(): RequestHold {
    return (this.held ??= this.memory.holdOf(this));
  }

  /** How long its answer waits for room, once it has begun; null before that. */
  get begunMs(): number | null {
    return this.response.headersSent ? this.pace.stallTimeoutMs : null;
  }

  /**
   * Answers what is to be waited for, if anything is. Errors: overloaded when there is no room for the answer to a
   * question.
   */
  answer(answer: Answer): Promise<void> | undefined {
    switch (answer.type) {
      case 'data':
        this.worked = answer.worked ?? null;
        return this.sendInTurn(successEnvelope(answer.json, this.warnings.list), JSON_TYPE);
      case 'text':
        return this.sendInTurn(answer.text, answer.contentType);
      case 'bare': {
        this.isReplayed ||= answer.isReplayed ?? false;
        const sent = this.sendBare(answer);
        this.observe(answer.code ?? (answer.status < 400 ? 200 : answer.status), null);
        return sent;
      }
      case 'hits':
        this.worked = answer.worked ?? null;
        return this.sendHitsInTurn(answer);
      case 'pieces':
        this.worked = answer.worked ?? null;
        return this.answerInPieces(answer.pieces);
      case 'events':
        return this.whileThere(answer.events, () =>
          answer.isFollowed ? this.answerWithEvents(answer.events) : this.answerWithData(answer.events),
        );
    }
  }

  /** Nothing is read for it any more; what its connection has is counted until it is taken. */
  releaseRead(): void {
    this.held?.releaseRead();
  }

  get isStranger(): boolean {
    return this.key === null;
  }

  /** Whose memory its answer takes. */
  get caller(): string {
    return this.key === null ? `address:${this.addressOf(this.request)}` : identityOf(this.key);
  }

  /**
   * Of what was changed the caller must hear, and small answers cost no more than the connection. Errors: overloaded.
   */
  private mustHaveRoom(bytes: number): void {
    if (bytes > SMALL_ANSWER_BYTES && this.isQuestion && !this.hold.takes(bytes)) throw busy();
  }

  /** Whether nothing is done for it but to answer. */
  private get isQuestion(): boolean {
    return (
      this.request.method === 'GET' ||
      this.request.method === 'HEAD' ||
      this.access === 'readonly' ||
      this.access === 'public'
    );
  }

  /** Whether the client has disconnected. */
  get isGone(): boolean {
    return this.response.destroyed;
  }

  /**
   * Answers with the error's envelope, or breaks off an answer that has begun or can't be written. Throws only what the
   * observer does.
   */
  fail(error: unknown): void {
    try {
      const code = this.answerError(error);
      this.observe(code, code === 500 ? error : null);
    } catch (second) {
      this.response.destroy();
      this.observe(500, second);
    }
  }

  /** Answers the code to report. */
  private answerError(error: unknown): number {
    const { code, message, shown } = publicError(error);
    if (error instanceof ClientGone) {
      this.response.destroy();
      return 400;
    }
    if (this.response.headersSent) {
      this.response.destroy();
      return code;
    }
    const isReal = this.failsAs !== 'envelope' || this.isReal;
    const more = {
      retryAfterSeconds: this.retryAfter(error),
      challenge: code === UNAUTHENTICATED ? (this.challenge ?? (isReal ? KEY_CHALLENGE : null)) : null,
    };
    if (this.failsAs === 'envelope')
      this.send(errorEnvelope(code, message, shown), JSON_TYPE, {
        ...more,
        status: isReal ? code : 200,
        vary: PREFERENCE_HEADER,
      });
    else this.send(jsonRpcError(code, message), JSON_TYPE, { ...more, status: code });
    return code;
  }

  private retryAfter(error: unknown): number | null {
    if (!isQuiverError(error)) return null;
    const { retryAfterSeconds } = error.details;
    if (typeof retryAfterSeconds === 'number') return retryAfterSeconds;
    if (error.kind === 'rate_limited') return Math.max(1, this.rate?.resetSeconds ?? 1);
    return error.kind === 'overloaded' ? BUSY_RETRY_SECONDS : null;
  }

  /** Hundreds of long answers of one round would keep it from everybody else. */
  private sendInTurn(text: string | Buffer, contentType: string): Promise<void> | undefined {
    const turn = text.length > WRITE_CHARACTERS ? ownTurn() : undefined;
    if (turn !== undefined)
      return turn.then(() => this.sendAtOnce(text, contentType)).then(() => this.observe(200, null));
    const sent = this.sendAtOnce(text, contentType);
    this.observe(200, null);
    return sent;
  }

  private sendHitsInTurn(answer: HitsAnswer): Promise<void> | undefined {
    const turn = answer.hits.length > WRITE_CHARACTERS ? ownTurn() : undefined;
    if (turn === undefined) return this.sendHitsNow(answer);
    this.holdHits(answer);
    return turn.then(() => (this.sendHits(answer) ? this.observe(200, null) : this.answerInPieces(hitsPieces(answer))));
  }

  private sendHitsNow(answer: HitsAnswer): Promise<void> | undefined {
    if (this.sendHits(answer)) {
      this.observe(200, null);
      return undefined;
    }
    this.holdHits(answer);
    return this.answerInPieces(hitsPieces(answer));
  }

  /** Errors: overloaded. */
  private holdHits({ hits }: HitsAnswer): void {
    if (hits.length > SMALL_ANSWER_BYTES && this.isQuestion && !this.hold.takesRead(hits.length)) throw busy();
    this.hold.keep(hits.length);
  }

  /** Sends the text of an answer in one piece, or where that would not show whether it is taken, in several. */
  private sendAtOnce(text: string | Buffer, contentType: string): Promise<void> | undefined {
    this.mustHaveRoom(text.length);
    if (!this.isInSlices(text)) {
      this.send(text, contentType);
      return undefined;
    }
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.begin({ ...this.headers(contentType), 'content-length': bytes.length });
    return this.endInSlices(bytes);
  }

  private isInSlices(text: string | Buffer): boolean {
    return text.length > STREAM_CHARACTERS && this.response instanceof StreamResponse;
  }

  private async endInSlices(bytes: Buffer): Promise<void> {
    let from = 0;
    for (; bytes.length - from > STREAM_CHARACTERS; from += STREAM_CHARACTERS) {
      this.hold.keep(bytes.length - from);
      if (!(await this.write(bytes.subarray(from, from + STREAM_CHARACTERS)))) return this.releaseRead();
    }
    this.releaseRead();
    this.end(bytes.subarray(from));
  }

  private send(
    text: string | Buffer,
    contentType: string,
    {
      status = 200,
      retryAfterSeconds = null,
      challenge = null,
      vary,
    }: { status?: number; retryAfterSeconds?: number | null; challenge?: string | null; vary?: string } = {},
  ): void {
    const headers = this.headers(contentType);
    if (vary !== undefined) headers.vary = joined(headers.vary, vary);
    headers['content-length'] = Buffer.byteLength(text);
    if (challenge !== null) headers['www-authenticate'] = challenge;
    if (retryAfterSeconds !== null) headers['retry-after'] = String(retryAfterSeconds);
    this.begin(headers, status);
    this.end(text);
  }

  /** Answers whether it did. */
  private sendHits({ before, hits, behind }: HitsAnswer): boolean {
    const { answers, response } = this;
    if (
      answers === undefined ||
      !answers.write(`${SUCCESS_HEAD}${before}`, hits, `${behind}${successTail(this.warnings.list)}`)
    )
      return false;
    const headers = this.headers(JSON_TYPE);
    headers['content-length'] = answers.length;
    this.begin(headers);
    if (!(response instanceof (FastPathResponse as unknown as new () => never))) {
      this.end(answers.copy());
      return true;
    }
    (response as unknown as FastPathResponse).endWith(answers);
    this.watchRest();
    return true;
  }

  private sendBare({ status, headers, bytes }: BareAnswer): Promise<void> | undefined {
    this.mustHaveRoom(bytes?.length ?? 0);
    const general = this.headers('');
    const own: OutgoingHttpHeaders = { ...general, ...headers };
    if (own['content-type'] === '') delete own['content-type'];
    if (general.vary !== undefined && headers.vary !== undefined) own.vary = joined(general.vary, String(headers.vary));
    if (bytes !== null) own['content-length'] = bytes.length;
    this.begin(own, status);
    // The answer to HEAD says how long the body would be.
    const body = bytes === null || this.request.method === 'HEAD' ? NO_BYTES : bytes;
    if (this.isInSlices(body)) return this.endInSlices(body);
    this.end(body);
    return undefined;
  }

  /**
   * Writes the head. If much of the body is still to come, the connection ends with this answer, and the head says so.
   */
  private begin(headers: OutgoingHttpHeaders, status = 200): void {
    // Over HTTP/2, the rest of a body stands in nobody's way.
    if (
      !this.request.complete &&
      !(this.response instanceof StreamResponse) &&
      this.unreadBytes() > KEEP_ALIVE_REST_MAX
    )
      headers.connection = 'close';
    this.isLast = headers.connection === 'close' || !this.response.shouldKeepAlive;
    this.response.writeHead(status, headers);
  }

  /** Bytes of the body that may still come; Infinity if unknown. */
  private unreadBytes(): number {
    // A client that was not invited may send either its body or its next request, and the two can't be distinguished.
    if (this.awaitsContinue && !this.continued) return Infinity;
    const announced = announcedLength(this.request);
    return announced === 'chunked' ? Infinity : announced;
  }

  /** Writes the last part of the answer. Reads and drops the rest of the body, which stands before the next request. */
  private end(text: string | Buffer): void {
    const { request, response } = this;
    if (response instanceof StreamResponse && !request.complete) {
      response.endBeforeRequest(text);
    } else if (request.complete || (this.awaitsContinue && !this.continued)) {
      response.end(text);
    } else if (!this.isLast) {
      response.end(text);
      void discardBody(request).then(() => {
        // If the rest does not arrive, later bytes must not be taken for the next request.
        if (!request.complete) request.socket.destroy();
      });
    } else {
      response.write(text);
      void discardBody(request).then(() => response.end());
    }
    this.watchRest();
  }

  /**
   * Watches over what the system has not taken of an answer whose last part is written. It may end only when the rest
   * of the body has come.
   */
  private watchRest(): void {
    const { response } = this;
    // Usually it takes a small one at once, and there is nothing to wait for. Of a connection that is closed, nothing
    // more is heard.
    if ((!response.writableEnded || response.writableLength > 0) && !response.destroyed)
      void this.progress('finish', response.writableLength);
  }

  private async answerInPieces(pieces: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
    const charactersMax = this.response instanceof StreamResponse ? STREAM_CHARACTERS : WRITE_CHARACTERS;
    const made = { text: SUCCESS_HEAD };
    let isBegun = false;
    for (;;) {
      // Only await a real promise: awaiting plain values would slow small answers down.
      const isLast = addNext(made, iterator);
      if (isLast === true || (isLast !== false && (await isLast))) break;
      if (made.text.length < charactersMax) continue;
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      // An error before this point still gets its envelope.
      if (!isBegun) this.begin(this.headers(JSON_TYPE));
      isBegun = true;
      if (!(await this.writeOut(made))) {
        await iterator.return?.();
        return this.observe(200, null);
      }
    }
    made.text += successTail(this.warnings.list);
    if (isBegun) this.end(made.text);
    else this.send(made.text, JSON_TYPE);
    this.observe(200, null);
  }

  /** Ends what makes an answer when its client goes. Errors: ClientGone. */
  private async whileThere(events: AnswerEvents, work: () => Promise<void>): Promise<void> {
    const { response } = this;
    const gone = (): void => void events.return();
    response.on('close', gone);
    if (response.destroyed) gone();
    try {
      await work();
    } catch (error) {
      gone();
      throw this.isGone ? new ClientGone() : error;
    } finally {
      response.off('close', gone);
    }
  }

  private async answerWithData(events: AnswerEvents): Promise<void> {
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return this.sendInTurn(successEnvelope(value, this.warnings.list), JSON_TYPE);
    }
  }

  /** What fails before the first event has its envelope as ever; later, the envelope is the last event. */
  private async answerWithEvents(events: AnswerEvents): Promise<void> {
    let step = await events.next();
    this.begin({ ...this.headers(EVENTS_TYPE), 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    const beat = setInterval(() => this.response.destroyed || this.response.write(BEAT), EVENTS_BEAT_MS);
    try {
      while (step.done !== true) {
        const { name, json } = step.value;
        if (!(await this.write(eventText(name, json)))) throw new ClientGone();
        step = await events.next();
      }
      this.end(eventText(LAST_EVENT, successEnvelope(step.value, this.warnings.list)));
      this.observe(200, null);
    } catch (error) {
      if (this.isGone) throw error;
      const { code, message, shown } = publicError(error);
      this.end(eventText(LAST_EVENT, errorEnvelope(code, message, shown)));
      this.observe(code, code === 500 ? error : null);
    } finally {
      clearInterval(beat);
    }
  }

  /** Writes, and waits until the client has taken enough of it. Answers whether the client is still connected. */
  private write(text: string | Buffer): boolean | Promise<boolean> {
    if (this.response.destroyed || this.response.write(text)) return !this.response.destroyed;
    return this.progress('drain', text.length).then(() => !this.response.destroyed);
  }

  /** The same of a text that is held by nothing else then: who waits keeps its variables. */
  private writeOut(made: { text: string }): boolean | Promise<boolean> {
    const { text } = made;
    made.text = '';
    return this.write(text);
  }

  /**
   * Waits until the client has taken what was written (as far as the system shows: its buffers hold some more) or has
   * disconnected. Meanwhile it is counted. A client that takes nothing for too long, or too little, is cut off, so that
   * it can't keep the memory of its answer occupied.
   */
  private progress(event: 'drain' | 'finish', bytes: number): Promise<void> {
    const { response, clock } = this;
    const { pace, taken } = (this.reader ??= { pace: new ReaderPace(this.pace), taken: new TakenBytes(response) });
    pace.begin(clock.monotonicMs(), taken);
    this.hold.sending(response.writableLength);
    return new Promise<void>((resolve) => {
      const go = (): void => {
        clearInterval(look);
        response.off(event, go);
        response.off('close', go);
        taken.streamHasSent(bytes);
        this.hold.sending(0);
        resolve();
      };
      const look = setInterval(() => {
        // Without a socket, this answer waits for an earlier one on the same connection, which is watched itself; or
        // all was taken.
        if (response.socket === null || response.writableLength === 0) pace.begin(clock.monotonicMs(), taken);
        else if (!pace.look(clock.monotonicMs(), taken)) response.destroy();
      }, pace.lookMs);
      response.on(event, go);
      response.on('close', go);
    });
  }

  private headers(contentType: string): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = {
      'content-type': contentType,
      'x-request-id': this.requestId,
      'x-content-type-options': 'nosniff',
    };
    // No headers if there is no limit.
    if (this.rate !== null && this.rate.limit > 0) {
      headers['ratelimit-limit'] = this.rate.limit;
      headers['ratelimit-remaining'] = this.rate.remaining;
      headers['ratelimit-reset'] = this.rate.resetSeconds;
    }
    if (this.isReplayed) headers[REPLAYED_HEADER] = 'true';
    if (this.crossOrigin !== null) Object.assign(headers, this.crossOrigin);
    if (this.vary !== '') headers.vary = joined(headers.vary, this.vary);
    if (
      this.request.headers[PREFERENCE_HEADER] !== undefined &&
      contentType === JSON_TYPE &&
      this.failsAs === 'envelope'
    ) {
      const status = statusPreference(this.request.headers[PREFERENCE_HEADER]);
      if (status !== null) headers['preference-applied'] = `status=${status}`;
    }
    if (this.isDraining()) headers.connection = 'close';
    return headers;
  }

  /** Whether an error has its code as HTTP status. */
  private get isReal(): boolean {
    const preferred = statusPreference(this.request.headers[PREFERENCE_HEADER]);
    return preferred === null ? this.hasRealStatuses : preferred === 'real';
  }

  /** What it was so far, as its own notes have it. */
  profile(callProfile: CallProfile): RequestProfile {
    const { startedMs, handedMs, parseMs, requestId } = this;
    return profileOf(
      callProfile,
      { startedMs, handedMs, parseMs, doneMs: this.clock.monotonicMs() },
      { requestId, traceId: this.trace?.traceId ?? null },
    );
  }

  /** The trace that it belongs to, whether that is recorded or not. */
  private get trace(): TraceContext | null {
    return this.span?.context ?? contextFromHeaders(this.request.headers.traceparent);
  }

  /** Where the time of a slow one went, as far as that is known. */
  private breakdown(nowMs: number): SlowBreakdown {
    const { worked, callProfile, startedMs, handedMs, parseMs } = this;
    if (handedMs === 0) return { steps: null, profile: null };
    const workedMs = worked?.totalMs ?? 0;
    const steps = {
      wait: rounded(handedMs - startedMs - parseMs),
      parse: rounded(parseMs),
      ...(worked?.embeddingMs !== undefined && { embed: rounded(worked.embeddingMs) }),
      ...(worked?.searchMs !== undefined && { search: rounded(worked.searchMs) }),
      ...(worked?.storageMs !== undefined && { store: rounded(worked.storageMs) }),
      [worked === null ? 'work' : 'serialise']: rounded(nowMs - handedMs - workedMs),
    };
    return {
      steps,
      profile:
        callProfile === null || callProfile.calls.length === 0
          ? null
          : shortProfile(this.profile(callProfile), LOGGED_CALLS_MAX),
    };
  }

  private endSpan(code: number, error: unknown): void {
    const { span } = this;
    if (span === null) return;
    this.answering?.();
    const status = this.response.headersSent ? this.response.statusCode : undefined;
    span.set({
      'http.response.status_code': status,
      'quiver.response.code': code,
      'quiver.key.id': this.key?.id ?? undefined,
      'db.collection.name': this.collection ?? undefined,
    });
    // Of what the caller did wrong, the service has not failed.
    if (code >= 500) span.fail(isQuiverError(error) ? error.kind : String(code));
    span.end();
  }

  private observe(code: number, error: unknown): void {
    if (this.observed) return;
    this.observed = true;
    const nowMs = this.clock.monotonicMs();
    this.durationMs = nowMs - this.startedMs;
    this.endSpan(code, error);
    const trace = this.span === null && this.request.headers.traceparent === undefined ? null : this.trace;
    this.observer.requestAnswered({
      requestId: this.requestId,
      method: this.request.method ?? '',
      endpoint: this.endpoint,
      url: this.request.url ?? '',
      code,
      durationMs: this.durationMs,
      ...(trace !== null && { trace: { traceId: trace.traceId, spanId: this.span === null ? null : trace.spanId } }),
      ...(this.isReplayed && { isReplayed: true }),
      ...(this.durationMs >= this.slowMs && { slow: this.breakdown(nowMs) }),
      keyId: this.key?.id ?? null,
      keyName: this.key?.token === undefined ? (this.key?.name ?? null) : null,
      subject: this.key?.token?.subject,
      address: this.address,
      access: this.access,
      collection: this.collection,
      target: this.target,
      isAdministrative: this.isAdministrative,
      steps:
        this.worked === null
          ? null
          : { parseMs: this.parseMs, serialiseMs: Math.max(0, nowMs - this.handedMs - this.worked.totalMs) },
      error,
    });
  }
}

/** JSON text has no ends of lines. */
function eventText(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** Names of headers in `vary`, each once. */
function joined(known: OutgoingHttpHeaders[string], more: string): string {
  return known === undefined ? more : [...new Set([...String(known).split(', '), ...more.split(', ')])].join(', ');
}

/** Adds the next piece. Answers whether there was none. */
function addNext(
  made: { text: string },
  iterator: Iterator<string> | AsyncIterator<string>,
): boolean | Promise<boolean> {
  const add = ({ done, value }: IteratorResult<string>): boolean => {
    if (done === true) return true;
    made.text += value;
    return false;
  };
  const step = iterator.next();
  return step instanceof Promise ? step.then(add) : add(step);
}
