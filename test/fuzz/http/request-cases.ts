import { mutateBytes } from '../byte-mutation';
import { below, pick } from '../fuzz-target';
import { mutateJson } from '../json-mutation';
import type { HttpCase } from './http-case';
import { framed, inPieces, type WireRequest } from './wire-request';

/** An endpoint as the OpenAPI document of the service tells of it. */
export interface KnownEndpoint {
  method: string;
  template: string;
  /** A body that works, null where none is taken. */
  example: unknown;
  isForm: boolean;
}

/** The endpoints with their examples, read off an OpenAPI document. */
export function endpointsOf(document: any): KnownEndpoint[] {
  return Object.entries<any>(document.paths).flatMap(([template, methods]) =>
    Object.entries<any>(methods).map(([method, operation]) => {
      const content = operation.requestBody?.content ?? {};
      return {
        method: method.toUpperCase(),
        template,
        example: content['application/json']?.example ?? null,
        isForm: content['multipart/form-data'] !== undefined,
      };
    }),
  );
}

/** What stands for a path's parameter. Ids of keys are high, so that no key that the fuzzer needs is touched. */
const PARAMETERS: Record<string, readonly string[]> = {
  name: ['fuzzed', 'fuzzed', 'fuzzed', 'absent', '%00', '%2e%2e', 'a'.repeat(300), '%ff'],
  collection_name: ['fuzzed', 'fuzzed', 'absent', '%F0%9F%92%A9', '..%2f..'],
  id: ['seed-0', 'seed-1', 'absent', '%00', 'a'.repeat(600), '__proto__', '%ED%A0%80'],
  key_id: ['1000', '99999', '-5', '1e9', '9007199254740993', 'x', ''],
};
const QUERIES = [
  '',
  '',
  '',
  '?',
  '?k=9007199254740991',
  '?k=-1&offset=1e9',
  '?limit=100000',
  '?limit=x',
  '?id1=seed-0&id2=seed-1',
  '?id1=%&id2=',
  '?k=1&k=2',
  '?__proto__=1',
  `?${'a=1&'.repeat(200)}`,
];
const TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'text/plain',
  'application/json; charset=utf-16',
  'multipart/form-data',
  '',
];
const ENCODINGS = ['gzip', 'deflate', 'br', 'identity', 'gzip, gzip', 'x'];

/**
 * Requests to every endpoint, one to three on a connection: the structure of a valid body changed, or its bytes, or
 * both.
 */
export class RequestCases {
  constructor(
    private readonly parts: {
      endpoints: KnownEndpoint[];
      key: string;
      corpus: readonly { template: string; body: unknown }[];
    },
  ) {}

  generate(random: () => number): HttpCase {
    const requests = Array.from({ length: pick(random, [1, 1, 1, 2, 3]) }, () => framed(random, this.request(random)));
    return { pieces: inPieces(random, Buffer.concat(requests)), requests: requests.length, aborts: random() < 0.03 };
  }

  /** One request that is whole. */
  request(random: () => number): WireRequest {
    const endpoint = pick(
      random,
      this.parts.endpoints.filter(({ isForm }) => !isForm),
    );
    const path = endpoint.template.replace(/\{(\w+)\}/g, (_, name: string) =>
      pick(random, PARAMETERS[name] ?? ['x', '%00', '']),
    );
    const headers: Record<string, string> = { 'x-api-key': this.parts.key };
    const template = endpoint.example;
    if (template === null) return { method: endpoint.method, path: path + pick(random, QUERIES), headers, body: null };
    headers['content-type'] = pick(random, TYPES);
    const known = this.parts.corpus.filter((entry) => entry.template === endpoint.template).map(({ body }) => body);
    let body = jsonBytes(random() < 0.85 ? mutateJson(random, pick(random, [template, ...known])) : template);
    if (random() < 0.35) body = mutateBytes(random, body);
    // Such a body is no gzip (or twice): it must be refused, whatever it is.
    if (random() < 0.05) headers['content-encoding'] = pick(random, ENCODINGS);
    return { method: endpoint.method, path: path + pick(random, QUERIES), headers, body };
  }
}

/**
 * JSON of values nested deeper than the recursion of JSON.stringify never comes up; lone surrogates go out as escapes.
 */
function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value) ?? 'null');
}

/** Bytes that are HTTP at first: heads, lengths, chunks and lines changed at any byte. */
export class RawCases {
  constructor(private readonly parts: { seeds: readonly Buffer[] }) {}

  generate(random: () => number): HttpCase {
    const joined = Buffer.concat(Array.from({ length: 1 + below(random, 3) }, () => pick(random, this.parts.seeds)));
    return { pieces: inPieces(random, mutateBytes(random, joined)), requests: null, aborts: random() < 0.05 };
  }
}
