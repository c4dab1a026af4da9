import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { CallProfile } from '../../../shared/contract/shard/call-profile';
import type { Clock } from '../../../shared/base/time/clock';
import { type Span, stepSpan, type Tracer } from '../../../shared/base/trace/span';
import { contextFromHeaders } from '../../../shared/base/trace/trace-context';
import type { NetworkList } from '../../../shared/base/config/network-list';
import { isAllowedFrom } from '../../service/keys/key-networks';
import type { OutcomesService } from '../../service/idempotency/store-dedup';
import { type Caller, identityOf, TOKENS_USAGE_ID } from '../../service/keys/caller';
import type { KeyUsage, KeysService } from '../../service/keys/keys-service';
import { isMistyped } from '../../service/keys/secret';
import type { Tokens } from '../../service/keys/tokens/token-verifier';
import type { RateDecision, RateLimiter } from '../../service/limits/rate-limiter';
import { subjectWithLimit } from '../../service/limits/subject';
import type { CallProfiling } from '../../service/routing/call-profiling';
import type { AliasLookUp } from '../../service/service';
import { type AnswerMemory, isBusy } from '../load/answer-memory';
import type { AnswerRoom } from '../load/answer-room';
import { auditTarget } from '../requests/audit-target';
import { mustReach, mustUse, mustUseAlias, namesSeenBy, seesNodes } from '../requests/authorisation';
import type { BodyReader } from '../body/body-reader';
import type { BodyMemory } from '../body/body-memory';
import { NEEDLESS_BODY_BYTES, warnOfNeedlessBody } from '../body/needless-body';
import { announcedLength, type BodyBound, bodyTooLarge, readBody } from '../body/read-body';
import { clientAddress, limitedAddress } from '../connections/client-address';
import type { Cors } from '../requests/cors';
import {
  type Answer,
  type BareAnswer,
  type Endpoint,
  type EndpointBody,
  type EndpointCall,
  type JsonBody,
  NO_PROFILE,
} from '../endpoints/endpoint';
import type { EndpointMatch } from '../endpoints/endpoint-matcher';
import { Exchange } from './exchange';
import { explainedError } from '../answers/explained-error';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import type { RequestObserver } from './observer';
import type { Admission, OverloadGate } from '../load/overload-gate';
import { type RequestProfile, withoutNodes } from '../answers/profile';
import { handlerContext, NOT_ONCE, RequestOnce } from '../requests/request-once';
import { RecentResults, recentOf } from '../answers/recent-results';
import { isStrict, queryOf, STRICT_HEADER } from '../requests/request-query';
import { decodeSegment, type RequestTarget } from '../requests/request-target';
import type { RequestWarnings } from '../requests/request-warnings';
import { validate } from '../fields/issue';
import { SlowWatch } from '../load/slow-watch';
import type { Turns } from '../load/turns';
import { UPLOAD_HELD_BYTES } from '../requests/upload-form';

export interface PipelineParts {
  keys: Pick<KeysService, 'authenticate'>;
  /** null: no bearer tokens are taken. */
  tokens: Tokens | null;
  /** Who makes all requests; null: each says it by a key. */
  owner: Caller | null;
  usage: Pick<KeyUsage, 'record'>;
  outcomes: OutcomesService;
  rateLimiter: RateLimiter;
  /** For requests with a bad key, by client address: strangers can invent any number of these subjects. */
  addressLimiter: RateLimiter;
  observer: RequestObserver;
  gate: OverloadGate;
  bodies: BodyReader;
  /** For large bodies; absent: each has memory of its own. */
  bodyMemory?: BodyMemory | undefined;
  /** Where short answers are written; absent: they are made of strings. */
  answers?: AnswerRoom | undefined;
  /** Counts what answers hold. */
  answerMemory: AnswerMemory;
  turns: Turns;
  limits: HttpLimits;
  /** Whose `x-forwarded-for` is believed. */
  trustedProxies: NetworkList;
  /** Which pages of other origins may read answers; null: none. */
  cors: Cors | null;
  /** Whether errors have their code as HTTP status. */
  hasRealStatuses: boolean;
  audit: AuditState | null;
  clock: Clock;
  isDraining: () => boolean;
  /** What names of collections stand for. */
  aliases: AliasLookUp['names'];
  /** For the message about one that does not exist. */
  collectionNames: () => Promise<string[]>;
  /** What to add to the message about a path that is none. */
  pathHint: (method: string, target: RequestTarget) => string;
  /** null: nothing is traced. */
  tracer: Tracer | null;
  profiling: CallProfiling;
  /** A request is slow that takes this long, in milliseconds. */
  slowMs: number;
}

/** The audit log, as the HTTP layer knows it. */
export interface AuditState {
  /** Whether changes must be refused, because they could not be recorded. */
  isRefusing(): boolean;
}

/** A request from the server; `match` is null for an unknown path or method. */
export interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  target: RequestTarget;
  match: EndpointMatch | null;
  awaitsContinue: boolean;
}

/** Below this path, only key holders may learn even that a path does not exist. */
const GUARDED_PREFIX = 'v1';

/**
 * The way of every request. The order of the checks ensures that what a caller may not know costs nothing and reveals
 * nothing:
 *
 *   key (401, or 429 for an address with too many bad ones) → its networks (403) → rate (429) → endpoint exists (404)
 *   → role (403) → path and query parameters (400) → the path's collection (403) → load (429) → body size and encoding
 *   (400) → JSON and schema (422, limits 400) → the body's collection (403) → the use case
 */
export class Pipeline {
  private readonly parts: PipelineParts;
  private readonly slow = new SlowWatch();
  private readonly paths = new Map<z.ZodType, RecentResults<object>>();
  /** How long the last answer of an endpoint was that has it in one piece, where that was long. */
  private readonly lengths = new Map<Endpoint, number>();
  private readonly resolve = (name: string): string | Promise<string> => this.parts.aliases.resolve(name);
  private readonly addressOf = (request: IncomingMessage): string =>
    limitedAddress(clientAddress(request, this.parts.trustedProxies));

  constructor(parts: PipelineParts) {
    this.parts = parts;
  }

  /** Answers the request; never rejects. */
  async serve(arrival: Arrival): Promise<void> {
    const { match } = arrival;
    const exchange = this.exchangeOf(arrival);
    if (this.parts.cors !== null) exchange.crossOrigin = this.parts.cors.headersFor(arrival.request, arrival.target);
    try {
      if (this.parts.tracer !== null) exchange.span = this.begin(this.parts.tracer, arrival, exchange);
      if (match !== null) {
        exchange.endpoint = match.endpoint.template;
        exchange.isAdministrative = match.endpoint.isAdministrative;
        exchange.failsAs = match.endpoint.failsAs;
        exchange.vary = match.endpoint.vary;
        exchange.isWatched = match.endpoint.isWatched;
        exchange.access = match.endpoint.access;
      }
      await this.run(arrival, exchange);
    } catch (error) {
      if (isBusy(error)) this.parts.gate.refused(error);
      exchange.fail(
        await explainedError(error, async () => namesSeenBy(exchange.key, await this.parts.collectionNames())),
      );
    }
    const { collection, durationMs } = exchange;
    if (durationMs >= this.parts.slowMs && collection !== null && match?.endpoint.isProfiled === true)
      this.slow.note(collection, this.parts.clock.monotonicMs());
  }

  /**
   * Answers a request for a file, which needs no key and is in memory; `endpoint` is its name in metrics. Never
   * rejects.
   */
  async serveFile(arrival: Arrival, endpoint: string, file: () => Promise<BareAnswer>): Promise<void> {
    const exchange = this.exchangeOf(arrival);
    exchange.endpoint = endpoint;
    try {
      await exchange.answer(await file());
    } catch (error) {
      exchange.fail(error);
    }
  }

  /** Answers a request that something else would have answered. */
  refuse(arrival: Arrival, error: QuiverError): void {
    // Only the explorer's files, which are for its own page.
    this.exchangeOf(arrival).fail(this.parts.gate.refused(error));
  }

  private exchangeOf({ request, response, awaitsContinue }: Arrival): Exchange {
    const { clock, observer, isDraining, limits, slowMs, answers, answerMemory, hasRealStatuses } = this.parts;
    return new Exchange({
      request,
      response,
      clock,
      observer,
      awaitsContinue,
      isDraining,
      pace: limits,
      memory: answerMemory,
      addressOf: this.addressOf,
      slowMs,
      answers,
      hasRealStatuses,
    });
  }

  /**
   * The span of a request, in its caller's trace if that has one. Its path may name items, so only the template is in
   * it.
   */
  private begin(tracer: Tracer, { request, match }: Arrival, exchange: Exchange): Span | null {
    const { method = '', headers, httpVersion } = request;
    const route = match?.endpoint.template;
    return tracer.begin(
      route === undefined ? method : `${method} ${route}`,
      contextFromHeaders(headers.traceparent, headers.tracestate),
      {
        kind: 'server',
        startMs: exchange.startedMs,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
          'network.protocol.version': httpVersion,
          'quiver.request_id': exchange.requestId,
        },
      },
    );
  }

  /** What is noted of a request whose handler is about to be called; null, nearly always: nothing. */
  private profileOf(endpoint: Endpoint, query: unknown, exchange: Exchange): CallProfile | null {
    const { clock } = this.parts;
    const { span, collection } = exchange;
    if (span === null && !endpoint.isProfiled) return null;
    const isWatched =
      endpoint.isProfiled && collection !== null && this.slow.has(collection, () => clock.monotonicMs());
    if (span === null && !isWatched && (query as { profile?: boolean }).profile !== true) return null;
    const operation = endpoint.template.split('/').findLast((segment) => !segment.startsWith('{')) ?? '';
    const attributes = {
      'db.system.name': 'quiver',
      'db.operation.name': operation,
      'db.collection.name': collection ?? undefined,
    };
    const work =
      span?.child(collection === null ? operation : `${operation} ${collection}`, {
        startMs: exchange.handedMs,
        attributes,
      }) ?? null;
    return new CallProfile(clock, work);
  }

  /** Calls the handler of a request that is looked at. */
  private async handleProfiled(
    endpoint: Endpoint,
    call: EndpointCall,
    exchange: Exchange,
    callProfile: CallProfile,
  ): Promise<Answer> {
    exchange.callProfile = callProfile;
    if (endpoint.isProfiled && (call.query as { profile?: boolean }).profile === true) {
      const profile = (): RequestProfile =>
        seesNodes(call.key) ? exchange.profile(callProfile) : withoutNodes(exchange.profile(callProfile));
      call.profile = () => `,"profile":${JSON.stringify(profile())}`;
    }
    try {
      return await this.parts.profiling.during(callProfile, async () => endpoint.handle(call));
    } catch (error) {
      callProfile.span?.fail(isQuiverError(error) ? error.kind : 'internal');
      throw error;
    } finally {
      callProfile.span?.end();
    }
  }

  private async run(arrival: Arrival, exchange: Exchange): Promise<void> {
    const { match, request, target } = arrival;
    const endpoint = match?.endpoint ?? null;
    if (this.parts.audit !== null) this.noteForAudit(arrival, exchange);
    let key: Caller | null = null;
    if (endpoint === null ? target.segments[0] === GUARDED_PREFIX : endpoint.access !== 'public') {
      // Nearly always there is nothing to wait for, here and below, and awaiting what is there would take longer than
      // the check.
      const admitted = this.admit(request, exchange);
      key = admitted instanceof Promise ? await admitted : admitted;
      if (endpoint !== null) mustReach(key, endpoint);
      if (exchange.span !== null)
        stepSpan(exchange.span, 'authorise', exchange.startedMs, this.parts.clock.monotonicMs());
    } else if (endpoint?.isGuarded) {
      // Not with bad keys: a program of this address that has one must not shut a person out.
      await this.admitAddress(request, exchange, 'guarded');
    }
    if (match === null || endpoint === null)
      throw new QuiverError(
        'not_found',
        `there is no ${request.method} ${shownPath(target)}${this.parts.pathHint(request.method ?? '', target)}`,
      );

    let path = endpoint.path === null ? {} : this.pathOf(endpoint.path, match, target);
    exchange.target = auditTarget(endpoint.template, path as Record<string, string | number>);
    this.mustBeRecorded(endpoint);
    const { warnings } = exchange;
    if (request.headers[STRICT_HEADER] !== undefined)
      warnings.isStrict = isStrict(request.headers[STRICT_HEADER], STRICT_HEADER);
    const isPlain = target.query === '' && endpoint.emptyQuery !== null;
    const query = isPlain ? endpoint.emptyQuery : queryOf(endpoint.query, target.query, warnings);
    let { access } = endpoint;
    let aliased: string | null = null;
    const useAs = (name: string, collection: string): string => {
      exchange.collection = collection;
      if (key === null || access === 'public') return collection;
      if (name === collection) mustUse(key, access, collection);
      else mustUseAlias(key, access, name, collection, this.parts.aliases.handsOn(name, collection));
      if (name !== collection) aliased = collection;
      return collection;
    };
    const use = (name: string): string | Promise<string> => {
      const collection = this.parts.aliases.resolve(name);
      return collection instanceof Promise ? collection.then((found) => useAs(name, found)) : useAs(name, collection);
    };
    const becomes = (other: Endpoint): void => {
      exchange.access = access = other.access;
      exchange.isAdministrative = other.isAdministrative;
      this.mustBeRecorded(other);
    };
    const { collections } = endpoint;
    if (collections.type === 'path') {
      const used = use((path as Record<string, string>)[collections.field]);
      path = named(path, collections.field, used instanceof Promise ? await used : used);
    } else if (collections.type === 'fixed') useAs(collections.name, collections.name);
    const once = key === null ? null : this.onceOf(endpoint, key, request, exchange, () => aliased);
    let admission = UNBOUNDED;
    try {
      if (endpoint.sheds) {
        const begins = exchange.hold.mayBegin();
        if (begins !== undefined) await begins;
        admission = this.parts.gate.enter(this.announcedBytes(request, endpoint));
      }
      const read = this.body(request, endpoint, exchange, admission, once);
      let body = read instanceof Promise ? await read : read;
      // Of a form, all are named once it was read.
      const taken = bodyFor(endpoint, request);
      if (taken.type !== 'form') warnings.mustBeCertain();
      once?.end();
      const asked = once === null ? NOT_ONCE : handlerContext(once);
      if (collections.type === 'body') {
        const name = (body as Record<string, string>)[collections.field];
        const used = collections.isNew === true ? useAs(name, name) : use(name);
        body = named(body, collections.field, used instanceof Promise ? await used : used);
      }
      exchange.handedMs = this.parts.clock.monotonicMs();
      if (exchange.span !== null && taken.type === 'json')
        stepSpan(exchange.span, 'read body', exchange.readFromMs, exchange.handedMs, {
          'http.request.body.size': exchange.bodyBytes,
        });
      const call: EndpointCall = {
        path,
        query,
        body,
        warnings,
        request,
        key,
        use,
        resolve: this.resolve,
        about: (target) => (exchange.target = target),
        becomes,
        profile: NO_PROFILE,
        hold: exchange.hold,
        ...asked,
      };
      const expected = this.lengths.get(endpoint);
      if (expected !== undefined) await exchange.hold.reserve(expected);
      const callProfile = this.profileOf(endpoint, query, exchange);
      const handled =
        callProfile === null ? endpoint.handle(call) : this.handleProfiled(endpoint, call, exchange, callProfile);
      const answer = handled instanceof Promise ? await handled : handled;
      if (answer.type === 'data' || answer.type === 'text')
        this.noteLength(endpoint, answer.type === 'data' ? answer.json.length : answer.text.length);
      if (exchange.span !== null) {
        const answeredMs = this.parts.clock.monotonicMs();
        exchange.answering = () => stepSpan(exchange.span!, 'write answer', answeredMs, this.parts.clock.monotonicMs());
      }
      const sent = exchange.answer(answer);
      if (sent !== undefined) await sent;
    } finally {
      admission.release();
      exchange.releaseRead();
    }
  }

  /** What the next answer of this kind will be like, and is counted by before it is made. */
  private noteLength(endpoint: Endpoint, length: number): void {
    if (length > LONG_ANSWER) this.lengths.set(endpoint, length);
    else if (this.lengths.size > 0) this.lengths.delete(endpoint);
  }

  /** Errors: invalid_parameter. */
  private onceOf(
    endpoint: Endpoint,
    caller: Caller,
    request: IncomingMessage,
    exchange: Exchange,
    aliased: () => string | null,
  ): RequestOnce | null {
    const key = endpoint.isOnce ? RequestOnce.keyOf(request) : null;
    if (key === null) return null;
    const { outcomes, clock } = this.parts;
    const repeated = (): boolean => (exchange.isReplayed = true);
    return new RequestOnce({ key, caller, request, outcomes, clock, repeated, aliased });
  }

  /** What is recorded also of a request that is refused before it is read. */
  private noteForAudit({ match, request, target }: Arrival, exchange: Exchange): void {
    exchange.address = clientAddress(request, this.parts.trustedProxies);
    const place = match?.endpoint.collections;
    const named = place?.type === 'path' ? match?.parameters.find(({ name }) => name === place.field) : undefined;
    if (named !== undefined)
      exchange.collection = target.segments[named.index].slice(0, REQUEST_BOUNDS.nameCharactersMax);
  }

  /** Errors: unavailable for a change that could not be recorded. */
  private mustBeRecorded({ access, method }: Endpoint): void {
    const isChange = method !== 'GET' && (access === 'readwrite' || access === 'admin');
    if (isChange && this.parts.audit?.isRefusing())
      throw new QuiverError(
        'unavailable',
        'the audit log can not be written, and nothing is changed meanwhile (AUDIT_LOG_FAILURE)',
      );
  }

  /** The caller. Errors: unauthenticated, forbidden, rate_limited; with a bearer token, also those of its check. */
  private admit(request: IncomingMessage, exchange: Exchange): Caller | Promise<Caller> {
    if (this.parts.owner !== null) return this.admitKnown(this.parts.owner, request, exchange);
    const secret = request.headers['x-api-key'];
    const key = typeof secret === 'string' && secret !== '' ? this.parts.keys.authenticate(secret) : null;
    return key === null || key.allowedNetworks !== null
      ? this.admitAfterLooking(key, request, exchange)
      : this.admitKnown(key, request, exchange);
  }

  private async admitAfterLooking(known: Caller | null, request: IncomingMessage, exchange: Exchange): Promise<Caller> {
    let key = known;
    if (key === null && request.headers['x-api-key'] === undefined && this.parts.tokens !== null)
      key = await this.bearer(this.parts.tokens, request, exchange);
    exchange.key = key;
    if (key === null) {
      await this.admitAddress(request, exchange);
      throw new QuiverError('unauthenticated', refusalOf(request, this.parts.tokens !== null));
    }
    if (key.allowedNetworks !== null) await this.mustBeAllowedFrom(key.allowedNetworks, request, exchange);
    return this.admitKnown(key, request, exchange);
  }

  private admitKnown(key: Caller, request: IncomingMessage, exchange: Exchange): Caller | Promise<Caller> {
    exchange.key = key;
    const { rateLimiter } = this.parts;
    const subject = subjectWithLimit(identityOf(key), key.rateLimitPerMinute);
    const decision =
      exchange.isWatched && request.headers[DASHBOARD_HEADER] !== undefined
        ? admitWatching(rateLimiter, key, subject)
        : rateLimiter.admit(subject);
    const admitted = (rate: RateDecision): Caller => {
      mustBeAllowed((exchange.rate = rate), settingOf(key));
      if (exchange.endpoint !== 'unmatched')
        this.parts.usage.record(key.id ?? TOKENS_USAGE_ID, `${request.method} ${exchange.endpoint}`);
      return key;
    };
    return decision instanceof Promise ? decision.then(admitted) : admitted(decision);
  }

  /**
   * The caller that a bearer token speaks for; null without one. A refused one is limited like a bad key. Errors: as
   * Tokens; rate_limited.
   */
  private async bearer(tokens: Tokens, request: IncomingMessage, exchange: Exchange): Promise<Caller | null> {
    exchange.challenge = CHALLENGE;
    const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    if (token === undefined) return null;
    try {
      return await tokens.authenticate(token);
    } catch (error) {
      await this.admitAddress(request, exchange);
      if (isQuiverError(error) && error.kind === 'unauthenticated')
        exchange.challenge = `${CHALLENGE}, error="invalid_token", error_description="${quotable(error.message)}"`;
      throw error;
    }
  }

  /** `window`: what is counted together. Errors: rate_limited. */
  private async admitAddress(request: IncomingMessage, exchange: Exchange, window = 'address'): Promise<void> {
    const address = limitedAddress(clientAddress(request, this.parts.trustedProxies));
    mustBeAllowed(
      (exchange.rate = await this.parts.addressLimiter.admit(`${window}:${address}`)),
      'without a valid key: BAD_KEY_LIMIT_PER_MINUTE',
    );
  }

  /** Calls from elsewhere are limited like those with a bad key. Errors: forbidden, rate_limited. */
  private async mustBeAllowedFrom(
    networks: readonly string[],
    request: IncomingMessage,
    exchange: Exchange,
  ): Promise<void> {
    const address = clientAddress(request, this.parts.trustedProxies);
    if (isAllowedFrom(networks, address)) return;
    await this.admitAddress(request, exchange);
    throw new QuiverError('forbidden', `this key may not be used from ${address}`);
  }

  /** Bytes to reserve for a body before it is read. Errors: limit_exceeded for a body that is too large. */
  private announcedBytes(request: IncomingMessage, endpoint: Endpoint): number {
    const body = bodyFor(endpoint, request);
    if (body.type === 'none') return 0;
    const announced = announcedLength(request);
    // Forms are not counted as they arrive: whatever their size, they hold no more than this in memory.
    if (body.type === 'form')
      return announced === 'chunked' ? UPLOAD_HELD_BYTES : Math.min(announced, UPLOAD_HELD_BYTES);
    if (announced === 'chunked') return 0;
    const bound = this.bodyBound(body);
    if (announced > bound.bytesMax) throw bodyTooLarge(bound);
    return announced;
  }

  /** Only a bulk may be large: no other valid request is. */
  private bodyBound(body: JsonBody): BodyBound {
    if (body.bytesMax !== undefined) return { bytesMax: body.bytesMax, setting: null };
    const { bodyBytesMax, requestBytesMax } = this.parts.limits;
    if (body.list !== undefined || bodyBytesMax <= requestBytesMax)
      return { bytesMax: bodyBytesMax, setting: 'MAX_BODY_BYTES' };
    return { bytesMax: requestBytesMax, setting: 'MAX_REQUEST_BYTES' };
  }

  /** The checked body, or what resolves to it. */
  private body(
    request: IncomingMessage,
    endpoint: Endpoint,
    exchange: Exchange,
    admission: Admission,
    once: RequestOnce | null,
  ): unknown {
    const expected = bodyFor(endpoint, request);
    if (expected.type === 'none') return this.needlessBody(request, exchange, admission);
    exchange.invite();
    if (exchange.span !== null) exchange.readFromMs = this.parts.clock.monotonicMs();
    if (expected.type === 'form') return undefined;
    const { limits, turns } = this.parts;
    const bytes = readBody(request, {
      bound: this.bodyBound(expected),
      grown: (size) => admission.grow(size),
      stallTimeoutMs: limits.stallTimeoutMs,
      turns,
      memory: this.parts.bodyMemory,
    });
    return bytes instanceof Promise
      ? bytes.then((read) => this.givenBack(read, expected, exchange, once))
      : this.checkedBody(bytes, expected, exchange, once);
  }

  /** A body where none is taken: a short one is read, in case it asks to be strict. */
  private needlessBody(
    request: IncomingMessage,
    exchange: Exchange,
    admission: Admission,
  ): undefined | Promise<undefined> {
    const announced = announcedLength(request);
    if (announced === 'chunked' || announced <= EMPTY_BODY_BYTES) return undefined;
    const { warnings } = exchange;
    if (announced > NEEDLESS_BODY_BYTES || request.headers['content-encoding'] !== undefined)
      return warnOfNeedlessBody(null, warnings);
    exchange.invite();
    const { limits, turns } = this.parts;
    const bound = { bytesMax: NEEDLESS_BODY_BYTES, setting: null };
    const bytes = readBody(request, {
      bound,
      grown: (size) => admission.grow(size),
      stallTimeoutMs: limits.stallTimeoutMs,
      turns,
    });
    return bytes instanceof Promise
      ? bytes.then((read) => warnOfNeedlessBody(read, warnings))
      : warnOfNeedlessBody(bytes, warnings);
  }

  /** The checked body, after which nobody needs the bytes. */
  private async givenBack(
    bytes: Buffer,
    expected: JsonBody,
    exchange: Exchange,
    once: RequestOnce | null,
  ): Promise<unknown> {
    try {
      return await this.checkedBody(bytes, expected, exchange, once);
    } finally {
      this.parts.bodyMemory?.give(bytes.buffer as ArrayBuffer);
    }
  }

  private checkedBody(bytes: Buffer, expected: JsonBody, exchange: Exchange, once: RequestOnce | null): unknown {
    const { bodies, clock } = this.parts;
    once?.add(bytes);
    if (bytes.length === 0) {
      if (expected.required) throw new QuiverError('schema_violation', 'body is required: send a JSON object');
      return validate(expected.schema, {}, 'body');
    }
    exchange.bodyBytes = bytes.length;
    const startMs = clock.monotonicMs();
    const read = (body: unknown): unknown => {
      exchange.parseMs = clock.monotonicMs() - startMs;
      return body;
    };
    const { warnings } = exchange;
    const body = bodies.read(bytes, expected, { isGone: () => exchange.isGone, warnings });
    return body instanceof Promise ? body.then(read, (error: unknown) => refuseDoubts(error, warnings)) : read(body);
  }

  /** The checked parameters of the path. */
  private pathOf(schema: z.ZodType, match: EndpointMatch, target: RequestTarget): unknown {
    const [first, ...more] = match.parameters;
    if (more.length > 0) return validate(schema, pathParameters(match, target), 'path');
    const segment = target.segments[first.index];
    const recent = recentOf(this.paths, schema);
    let path = recent.get(segment);
    if (path === undefined) {
      path = Object.freeze(validate(schema, pathParameters(match, target), 'path') as object);
      if (segment.length <= REQUEST_BOUNDS.nameCharactersMax) recent.put(segment, path);
    }
    return path;
  }
}

/** Parameters or a body with the collection's own name in the place of an alias; nobody may change what was given. */
function named(given: unknown, field: string, collection: string): unknown {
  return (given as Record<string, unknown>)[field] === collection
    ? given
    : { ...(given as Record<string, unknown>), [field]: collection };
}

/** What the request's body is to be: JSON in the place of a form, where it says so. */
function bodyFor({ body }: Endpoint, { headers }: IncomingMessage): EndpointBody {
  if (body.type !== 'form' || body.json === undefined) return body;
  return /^application\/json\b/i.test(headers['content-type'] ?? '') ? body.json : body;
}

/** Who asks for errors in the place of warnings hears of all doubts, whatever else is wrong. */
function refuseDoubts(error: unknown, warnings: RequestWarnings): never {
  if (isQuiverError(error) && error.kind === 'schema_violation') warnings.mustBeCertain();
  throw error;
}

/** Why a request has no key, and how to give one. */
function refusalOf({ headers }: IncomingMessage, takesTokens: boolean): string {
  const secret = headers['x-api-key'];
  if (typeof secret === 'string' && isMistyped(secret))
    return 'malformed API key: its checksum is wrong, so it was mistyped or is not whole';
  if (secret !== undefined)
    return 'invalid API key: the x-api-key header must hold the secret of an active key, as it was shown when the key was made';
  if (takesTokens) return 'missing API key or bearer token: send x-api-key: <key>, or Authorization: Bearer <token>';
  const other = OTHER_KEY_HEADERS.find((name) => headers[name] !== undefined);
  const hint =
    other !== undefined ? `, not in ${other}` : headers.authorization === undefined ? '' : ', not in Authorization';
  return `missing API key: send it in the x-api-key header${hint}, for example curl -H "x-api-key: $API_KEY"`;
}

/** `setting`: where the limit comes from, for whoever wants another. */
function mustBeAllowed({ allowed, limit, resetSeconds }: RateDecision, setting: string): void {
  if (!allowed)
    throw new QuiverError(
      'rate_limited',
      `rate limit exceeded: at most ${limit} requests per minute (${setting}); try again in ${resetSeconds} s`,
    );
}

function settingOf({ rateLimitPerMinute, token }: Caller): string {
  if (rateLimitPerMinute === null) return 'RATE_LIMIT_PER_MINUTE';
  return token === undefined
    ? 'rate_limit_per_minute of this key'
    : 'JWT_RATE_LIMIT_PER_MINUTE, or what the token says';
}

/** A request of the dashboard itself: in the window that those of each caller have, or else in the usual one. */
async function admitWatching(limiter: RateLimiter, key: Caller, subject: string): Promise<RateDecision> {
  const watching = await limiter.admit(subjectWithLimit(`watch:${identityOf(key)}`, WATCHED_PER_MINUTE));
  return watching.allowed ? watching : limiter.admit(subject);
}

/** What the dashboard sends with what it asks by itself. */
const DASHBOARD_HEADER = 'x-quiver-dashboard';
/**
 * Requests of the dashboard itself that a caller may make in any 60 seconds, besides those of its limit. Two tabs of a
 * cluster make half of it. Anybody can send the header, so these are bounded too, and are questions that cost little.
 */
const WATCHED_PER_MINUTE = 300;

/** Headers in which other products take a key. */
const OTHER_KEY_HEADERS = ['api-key', 'apikey', 'x-chroma-token'];

/** How a request says who makes it (RFC 6750, section 2.1); the name of the scheme in whatever letters. */
const BEARER = /^bearer +([^\s]+) *$/i;
/** What answers 401 say where tokens are taken (section 3). */
const CHALLENGE = 'Bearer realm="quiver"';

/** A text between quotation marks of a header. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, ' ');
}

/** Characters of an answer in one piece from which on it is counted before it is there. */
const LONG_ANSWER = 64 * 1024;

/** Some clients send `{}` or `null` with every request, perhaps with a line end. */
const EMPTY_BODY_BYTES = 4;
const UNBOUNDED: Admission = { grow: () => undefined, release: () => undefined };
/** Longest piece of an unknown path that a message repeats. */
const SHOWN_PATH_MAX = 200;

function shownPath(target: RequestTarget): string {
  return `/${target.segments.join('/')}`.slice(0, SHOWN_PATH_MAX);
}

function pathParameters(match: EndpointMatch, target: RequestTarget): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const { name, index } of match.parameters) parameters[name] = decodeSegment(target.segments[index], name);
  return parameters;
}
