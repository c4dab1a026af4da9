import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Role } from '../keys/keys-service';

/**
 * One row of the endpoint table: everything that is known of an endpoint, from which routing, checks, validation, the
 * OpenAPI document and the docs are made.
 */
export interface Endpoint {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `{name}` for parameters, each one whole segment; the name in metrics, usage and documentation. */
  template: string;
  /** The least role that may call it; `public` needs no key and has no rate limit. */
  access: Role | 'public';
  /** Whether it is about keys, the cluster, or collections as a whole: such requests are always in the log. */
  isAdministrative: boolean;
  /** Whether an overloaded process may refuse it. */
  sheds: boolean;
  tag: string;
  summary: string;
  description: string;
  /** Parameters of the template; null without one. */
  path: z.ZodObject | null;
  /** Parameters of the query string; null when it takes none, and whatever is there is ignored. */
  query: z.ZodObject | null;
  body: EndpointBody;
  answer: EndpointAnswer;
  /** Error codes beside those that every endpoint of its access has. */
  errors: readonly number[];
  handle(call: EndpointCall): Promise<Answer>;
}

export type EndpointBody =
  | { type: 'none' }
  | JsonBody
  /** The form is read by the handler as it streams in; `schema` documents it. */
  | { type: 'form'; schema: z.ZodType };

export interface JsonBody {
  type: 'json';
  schema: z.ZodType;
  required: boolean;
  /** A body that works in the documentation's order of steps. */
  example: unknown;
  /**
   * The member that makes the body a bulk: its elements are built and checked one by one, and the body may have
   * MAX_BODY_BYTES; without one, MAX_REQUEST_BYTES. The output of `schema` has it under the same name.
   */
  list?: BodyList;
}

export interface BodyList {
  name: string;
  /** More are a limit exceeded, here as in `schema`. */
  lengthMax: number;
  /** What configures it. */
  setting?: string;
  elements: z.ZodArray<z.ZodType>;
}

export type EndpointAnswer = { type: 'data'; schema: z.ZodType } | { type: 'text'; contentType: string };

/** A request that has passed every check: `path`, `query` and `body` are outputs of the endpoint's schemas. */
export interface EndpointCall {
  path: unknown;
  query: unknown;
  body: unknown;
  /** For forms only. */
  request: IncomingMessage;
}

/** Of a handler's time, what the use case took in milliseconds: the rest went into writing the answer. */
export type WorkedTime = { totalMs: number };

export type Answer =
  /** JSON text of the envelope's `data`, which is small; `worked` where the steps of the endpoint are measured. */
  | { type: 'data'; json: string; worked?: WorkedTime }
  /**
   * The same in pieces, which are made as the client takes them. It fails before the first piece or breaks the connection;
   * it is never cut short silently.
   */
  | { type: 'pieces'; pieces: Iterable<string> | AsyncIterable<string>; worked?: WorkedTime }
  /** Outside the envelope. */
  | { type: 'text'; contentType: string; text: string | Buffer };

/** An endpoint as its author writes it: the handler sees its schemas' types, what is left out is the usual. */
export interface EndpointDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>
  extends Omit<Endpoint, 'path' | 'query' | 'body' | 'handle' | 'isAdministrative' | 'sheds' | 'description' | 'errors'>,
    Partial<Pick<Endpoint, 'isAdministrative' | 'sheds' | 'description' | 'errors'>> {
  path?: P;
  query?: Q;
  body?: { type: 'none' } | (JsonBody & { schema: B }) | { type: 'form'; schema: z.ZodType };
  handle(call: { path: z.output<P>; query: z.output<Q>; body: z.output<B>; request: IncomingMessage }): Promise<Answer>;
}
