import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { ErrorKind } from '../../../shared/base/errors/quiver-error';
import type { Caller } from '../../service/keys/caller';
import type { Role } from '../../service/keys/keys-service';
import type { AnswerHold } from '../../service/answer-hold';
import type { ItemBounds } from '../body/body-scanner';
import type { HandlerOnce } from '../requests/request-once';
import type { RequestWarnings } from '../requests/request-warnings';

/** Methods of endpoints, in the order in which messages name them. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * One row of the endpoint table: everything that is known about an endpoint. Routing, checks, validation, the OpenAPI
 * document and the explorer are made from it.
 */
export interface Endpoint {
  method: (typeof METHODS)[number];
  /**
   * Path with `{name}` for parameters, each a whole segment. It is the endpoint's name in metrics, usage and
   * documentation.
   */
  template: string;
  /** The least role that may call it; `public` needs no key and has no rate limit. */
  access: Role | 'public';
  /** Where a request says which collection it is about: keys may be limited to some. */
  collections: CollectionSource;
  /** Whether it is about keys, the cluster, or collections as a whole: such requests are always in the log. */
  isAdministrative: boolean;
  /** Whether an overloaded process may refuse it. */
  sheds: boolean;
  /**
   * Whether somebody could guess what it asks for: then the calls of a client's address are limited, like those with a
   * bad key.
   */
  isGuarded: boolean;
  /** Whether the dashboard asks for it by itself, to sign in and to keep what it shows up to date. */
  isWatched: boolean;
  /** Headers of the request that its answer depends on, as the header Vary names them; '': none. */
  vary: string;
  /** How its failures look: the envelope with HTTP 200, or an error of JSON-RPC with the code as HTTP status. */
  failsAs: 'envelope' | 'json-rpc';
  tag: string;
  summary: string;
  description: string;
  /**
   * What clients call it, with words joined by _, where their methods are written from its schemas: of a POST under a
   * collection that may be repeated, and takes and answers JSON objects.
   */
  clientMethod?: string;
  /**
   * Whether it is done once when a request carries an Idempotency-Key; its handler uses `once` or `inStore` then.
   * Others ignore the header: what only reads, and what does no harm when it is repeated.
   */
  isOnce: boolean;
  /** Parameters of the template; null if it has none. */
  path: z.ZodObject | null;
  /** Parameters of the query string. Null if it takes none. */
  query: z.ZodObject | null;
  /** What `query` makes of no query string; null if that is not valid. */
  emptyQuery: unknown;
  /** Whether a caller may ask where its time went: the parameter `profile` of its query. */
  isProfiled: boolean;
  body: EndpointBody;
  answer: EndpointAnswer;
  /** Error codes in addition to those that every endpoint with this access has. */
  errors: readonly number[];
  handle(call: EndpointCall): Promise<Answer> | Answer;
}

/**
 * Where a request names its collection. `own`: nowhere, and the answer is about those that the key may know of, or
 * about none. `judged`: in several places, by which the service judges what the key may do. `service`: it is about the
 * service as a whole, which keys that are limited to collections may not use. `form`: the handler calls `use` with it.
 * `fixed`: it is always that one. In a path or a body, handlers find its own name where an alias was given; of a
 * collection that is to be made (`isNew`), what was given.
 */
export type CollectionSource =
  | { type: 'path' | 'body'; field: string; isNew?: true }
  | { type: 'form' | 'own' | 'judged' | 'service' }
  | { type: 'fixed'; name: string };

export type EndpointBody = { type: 'none' } | JsonBody | FormBody;

/** The handler reads the form while it arrives; `schema` documents it. `json`: what may come in its place. */
export interface FormBody {
  type: 'form';
  schema: z.ZodType;
  json?: JsonBody;
}

export interface JsonBody {
  type: 'json';
  schema: z.ZodType;
  required: boolean;
  /** A body that works when the documentation's steps are followed in order. */
  example: unknown;
  /**
   * The member that makes the body a bulk: its elements are parsed and checked one by one, and the body may have
   * MAX_BODY_BYTES; otherwise MAX_REQUEST_BYTES. The output of `schema` has it under the same name.
   */
  list?: BodyList;
  /**
   * The output of `schema` for a body that differs from the one of `output` in nothing but its member `vector`, an
   * array of as many finite numbers. Where it is given, outputs are remembered by the text around the vector, and
   * nobody may change them.
   */
  withVector?: (output: unknown, vector: Float32Array) => unknown;
  /** The most that a body may have where that is less, because anybody may send it. */
  bytesMax?: number;
}

export interface BodyList {
  name: string;
  /** More elements than this are refused as limit_exceeded, here and in `schema`. */
  lengthMax: number;
  /** The setting that configures it. */
  setting?: string;
  /** What more elements are; default: limit_exceeded. */
  excess?: ErrorKind;
  elements: z.ZodArray<z.ZodType>;
  /**
   * The output of `elements` for an element that holds what nearly all hold and is valid; undefined: `elements` has to
   * judge it. It takes a fraction of what a schema takes.
   */
  common?: (element: unknown) => unknown;
  /**
   * That elements are items of a bulk write, and what they may hold: of a large body, the output may have
   * EncodedUpserts in the place of the list, which stand for the same elements.
   */
  encodes?: ItemBounds;
  /**
   * Whether elements that are not valid are left to the handler, each as a RefusedElement in its place, instead of
   * refusing the body. Gets the output of the body's schema. Default: no.
   */
  keepsRefused?: (body: Record<string, unknown>) => boolean;
}

export type EndpointAnswer =
  /** `streams`: or a stream of events, whose last has the envelope. */
  { type: 'data'; schema: z.ZodType; streams?: true } | { type: 'text'; contentType: string };

/** A request that has passed every check. `path`, `query` and `body` are outputs of the endpoint's schemas. */
export interface EndpointCall extends HandlerOnce {
  /** What the answer holds: to be told by whoever reads more for it than fits into one small piece. */
  hold: AnswerHold;
  path: unknown;
  query: unknown;
  body: unknown;
  /** What the caller should know besides the answer, and whether what is doubtful is to be refused. */
  warnings: RequestWarnings;
  /** For forms, and for what a header says. */
  request: IncomingMessage;
  /** The caller; null for a public endpoint. */
  key: Caller | null;
  /**
   * To be called with the collection before anything is done, where the endpoint's `collections` is `form`. Answers its
   * own name, also of an alias. Errors: forbidden; unavailable.
   */
  use(collection: string): string | Promise<string>;
  /**
   * The own name of a collection that is named besides, where rights do not depend on it. Errors: unavailable.
   */
  resolve(name: string): string | Promise<string>;
  /** Says for the audit log what the call is about, as `key:7`, where its path does not. */
  about(target: string): void;
  /**
   * To be called where this is a call of another endpoint, before that is done: `use` then asks for its role, and the
   * audit log has it as that one. Errors: unavailable for a change that could not be recorded.
   */
  becomes(endpoint: Endpoint): void;
  /** The member `profile` of the answer's data, with a comma before it, as of now; '' where nobody asked for it. */
  profile(): string;
}

/** Of a call that nobody wants a profile of. */
export const NO_PROFILE = (): string => '';

/** The part of a handler's time that the use case took, in milliseconds. The rest went into writing the answer. */
export type WorkedTime = { totalMs: number; embeddingMs?: number; searchMs?: number; storageMs?: number };

export type Answer =
  /** JSON text of the envelope's `data`, which is small; `worked` if the steps of the endpoint are measured. */
  | { type: 'data'; json: string; worked?: WorkedTime }
  /**
   * The same in pieces, each made when the client takes it. An error comes before the first piece or breaks the
   * connection; an answer is never cut short silently.
   */
  | { type: 'pieces'; pieces: Iterable<string> | AsyncIterable<string>; worked?: WorkedTime }
  | HitsAnswer
  | EventsAnswer
  /** Outside the envelope. */
  | { type: 'text'; contentType: string; text: string | Buffer }
  | BareAnswer;

/** JSON text of the envelope's `data` with hits as an array in it, which come as bytes (utf8HitsOf). */
export interface HitsAnswer {
  type: 'hits';
  before: string;
  hits: Buffer;
  behind: string;
  worked?: WorkedTime;
}

/** Data that are made while the client may follow it. */
export interface EventsAnswer {
  type: 'events';
  events: AnswerEvents;
  /** Whether the client gets a stream of events, of which the last is the envelope; otherwise it gets that alone. */
  isFollowed: boolean;
}

/** What comes before the data, each with a name and JSON text; its value at the end is the JSON text of the data. */
export interface AnswerEvents {
  next(): Promise<IteratorResult<{ name: string; json: string }, string>>;
  /** The client is gone: nobody wants more, also while `next` waits. */
  return(): Promise<unknown>;
}

/**
 * For browsers and others that want no envelope: with an HTTP status and headers of its own. `code`: what the request
 * came to, where the status does not say it. `bytes` null: an answer that has no body. `isReplayed`: it is that of an
 * earlier request.
 */
export interface BareAnswer {
  type: 'bare';
  status: number;
  code?: number;
  isReplayed?: boolean;
  headers: OutgoingHttpHeaders;
  bytes: Buffer | null;
}

/** An endpoint as its author writes it. The handler sees the types of its schemas; omitted fields have defaults. */
export interface EndpointDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>
  extends
    Omit<
      Endpoint,
      | 'path'
      | 'query'
      | 'emptyQuery'
      | 'body'
      | 'handle'
      | 'isProfiled'
      | 'collections'
      | 'isAdministrative'
      | 'sheds'
      | 'isGuarded'
      | 'isWatched'
      | 'isOnce'
      | 'vary'
      | 'failsAs'
      | 'description'
      | 'errors'
    >,
    Partial<
      Pick<
        Endpoint,
        | 'isProfiled'
        | 'collections'
        | 'isAdministrative'
        | 'sheds'
        | 'isGuarded'
        | 'isWatched'
        | 'isOnce'
        | 'vary'
        | 'failsAs'
        | 'description'
        | 'errors'
      >
    > {
  path?: P;
  query?: Q;
  body?: { type: 'none' } | (JsonBody & { schema: B }) | (FormBody & { json?: JsonBody & { schema: B } });
  handle(
    call: Omit<EndpointCall, 'path' | 'query' | 'body'> & { path: z.output<P>; query: z.output<Q>; body: z.output<B> },
  ): Promise<Answer> | Answer;
}
