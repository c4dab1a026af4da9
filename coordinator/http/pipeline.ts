import type { IncomingMessage, ServerResponse } from 'node:http';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { Clock } from '../../shared/time/clock';
import type { ApiKeyView, KeyUsage, KeysService } from '../keys/keys-service';
import type { RateDecision, RateLimiter } from '../limits/rate-limiter';
import type { BodyReader } from './body/body-reader';
import { announcedLength, type BodyBound, bodyTooLarge, readBody } from './body/read-body';
import type { BareAnswer, Endpoint, JsonBody } from './endpoint';
import type { EndpointMatch } from './endpoint-matcher';
import { Exchange } from './exchange';
import { explainedError } from './explained-error';
import type { HttpLimits } from './http-limits';
import type { RequestObserver } from './observer';
import type { Admission, OverloadGate } from './overload-gate';
import { decodeSegment, parseQuery, type RequestTarget } from './request-target';
import { authorise } from './role-check';
import { validate } from './schema/issue';
import type { Turns } from './turns';
import { UPLOAD_HELD_BYTES } from './upload-form';

export interface PipelineParts {
  keys: Pick<KeysService, 'authenticate'>;
  usage: Pick<KeyUsage, 'record'>;
  rateLimiter: RateLimiter;
  /** For requests with a bad key, by client address: strangers can invent any number of these subjects. */
  addressLimiter: RateLimiter;
  observer: RequestObserver;
  gate: OverloadGate;
  bodies: BodyReader;
  turns: Turns;
  limits: HttpLimits;
  clock: Clock;
  isDraining: () => boolean;
  /** For the message about one that does not exist. */
  collectionNames: () => Promise<string[]>;
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
 *   key (401, or 429 for an address with too many bad ones) → rate (429) → endpoint exists (404) → role (403)
 *   → path and query parameters (400) → load (429) → body size and encoding (400) → JSON and schema (422, limits 400)
 *   → the use case
 */
export class Pipeline {
  private readonly parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.parts = parts;
  }

  /** Answers the request; never rejects. */
  async serve(arrival: Arrival): Promise<void> {
    const { match } = arrival;
    const exchange = this.exchangeOf(arrival);
    if (match !== null) {
      exchange.endpoint = match.endpoint.template;
      exchange.isAdministrative = match.endpoint.isAdministrative;
      exchange.failsAs = match.endpoint.failsAs;
    }
    try {
      await this.run(arrival, exchange);
    } catch (error) {
      exchange.fail(await explainedError(error, this.parts.collectionNames));
    }
  }

  /** Answers a request for a file, which needs no key and is in memory; `endpoint` is its name in metrics. Never rejects. */
  async serveFile(arrival: Arrival, endpoint: string, file: () => Promise<BareAnswer>): Promise<void> {
    const exchange = this.exchangeOf(arrival);
    exchange.endpoint = endpoint;
    try {
      await exchange.answer(await file());
    } catch (error) {
      exchange.fail(error);
    }
  }

  private exchangeOf({ request, response, awaitsContinue }: Arrival): Exchange {
    const { clock, observer, isDraining, turns, limits } = this.parts;
    return new Exchange({ request, response, clock, observer, awaitsContinue, isDraining, turns, stallTimeoutMs: limits.stallTimeoutMs });
  }

  private async run(arrival: Arrival, exchange: Exchange): Promise<void> {
    const { match, request, target } = arrival;
    const endpoint = match?.endpoint ?? null;
    let key: ApiKeyView | null = null;
    if (endpoint === null ? target.segments[0] === GUARDED_PREFIX : endpoint.access !== 'public') {
      key = await this.admit(request, exchange);
      if (endpoint !== null) authorise(key, endpoint);
    } else if (endpoint?.isGuarded) {
      await this.admitAddress(request, exchange);
    }
    if (match === null || endpoint === null) throw new QuiverError('not_found', `there is no ${request.method} ${shownPath(target)}`);

    const path = endpoint.path === null ? {} : validate(endpoint.path, pathParameters(match, target), 'path');
    const query = endpoint.query === null ? {} : validate(endpoint.query, parseQuery(target.query), 'query');
    const admission = endpoint.sheds ? this.parts.gate.enter(this.announcedBytes(request, endpoint)) : UNBOUNDED;
    try {
      const body = await this.body(request, endpoint, exchange, admission);
      exchange.handedMs = this.parts.clock.monotonicMs();
      await exchange.answer(await endpoint.handle({ path, query, body, request, key }));
    } finally {
      admission.release();
    }
  }

  /** The caller's key. Errors: unauthenticated, rate_limited. */
  private async admit(request: IncomingMessage, exchange: Exchange): Promise<ApiKeyView> {
    const secret = request.headers['x-api-key'];
    const key = typeof secret === 'string' && secret !== '' ? this.parts.keys.authenticate(secret) : null;
    exchange.keyId = key?.id ?? null;
    if (key === null) await this.admitAddress(request, exchange);
    else mustBeAllowed((exchange.rate = await this.parts.rateLimiter.admit(`key:${key.id}`)));
    if (key === null) throw new QuiverError('unauthenticated', refusalOf(request));
    if (exchange.endpoint !== 'unmatched') this.parts.usage.record(key.id, `${request.method} ${exchange.endpoint}`);
    return key;
  }

  /** Errors: rate_limited. */
  private async admitAddress(request: IncomingMessage, exchange: Exchange): Promise<void> {
    mustBeAllowed((exchange.rate = await this.parts.addressLimiter.admit(`address:${request.socket.remoteAddress ?? 'unknown'}`)));
  }

  /** Bytes to reserve for a body before it is read. Errors: limit_exceeded for a body that is too large. */
  private announcedBytes(request: IncomingMessage, endpoint: Endpoint): number {
    if (endpoint.body.type === 'none') return 0;
    const announced = announcedLength(request);
    // Forms are not counted as they arrive: whatever their size, they hold no more than this in memory.
    if (endpoint.body.type === 'form') return announced === 'chunked' ? UPLOAD_HELD_BYTES : Math.min(announced, UPLOAD_HELD_BYTES);
    if (announced === 'chunked') return 0;
    const bound = this.bodyBound(endpoint.body);
    if (announced > bound.bytesMax) throw bodyTooLarge(bound);
    return announced;
  }

  /** Only a bulk may be large: no other valid request is. */
  private bodyBound(body: JsonBody): BodyBound {
    if (body.bytesMax !== undefined) return { bytesMax: body.bytesMax, setting: null };
    const { bodyBytesMax, requestBytesMax } = this.parts.limits;
    if (body.list !== undefined || bodyBytesMax <= requestBytesMax) return { bytesMax: bodyBytesMax, setting: 'MAX_BODY_BYTES' };
    return { bytesMax: requestBytesMax, setting: 'MAX_REQUEST_BYTES' };
  }

  private async body(request: IncomingMessage, endpoint: Endpoint, exchange: Exchange, admission: Admission): Promise<unknown> {
    if (endpoint.body.type === 'none') return undefined;
    exchange.invite();
    if (endpoint.body.type === 'form') return undefined;
    const { bodies, clock, limits, turns } = this.parts;
    const bytes = await readBody(request, {
      bound: this.bodyBound(endpoint.body),
      grown: (size) => admission.grow(size),
      stallTimeoutMs: limits.stallTimeoutMs,
      turns,
    });
    if (bytes.length === 0) {
      if (endpoint.body.required) throw new QuiverError('schema_violation', 'body is required: send a JSON object');
      return validate(endpoint.body.schema, {}, 'body');
    }
    const startMs = clock.monotonicMs();
    const body = await bodies.read(bytes, endpoint.body, { isGone: () => exchange.isGone, warn: (warning) => exchange.warnings.push(warning) });
    exchange.parseMs = clock.monotonicMs() - startMs;
    return body;
  }
}

/** Why a request has no key, and how to give one. */
function refusalOf({ headers }: IncomingMessage): string {
  if (headers['x-api-key'] !== undefined) return 'invalid API key: the x-api-key header must hold the secret of an active key, as it was shown when the key was made';
  const hint = headers.authorization === undefined ? '' : ', not in Authorization';
  return `missing API key: send it in the x-api-key header${hint}, for example curl -H "x-api-key: $API_KEY"`;
}

function mustBeAllowed({ allowed, limit, resetSeconds }: RateDecision): void {
  if (!allowed) throw new QuiverError('rate_limited', `rate limit exceeded: at most ${limit} requests per minute; try again in ${resetSeconds} s`);
}

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
