import { QuiverError } from '../errors/quiver-error';
import type { Filter } from '../filter/filter';
import type { KeywordSearch, ScanRequest, SearchEffort, VectorSearch } from '../shard/shard-client';
import type { ReadRequest, ReadRequest__Output } from './generated/quiver/v1/reads';
import { stringsFromBytes, stringsToBytes } from './string-list-codec';

/** A read of a shard as a value: the reading calls of ShardClient. */
export type ReadCall =
  | { type: 'search'; request: VectorSearch }
  | { type: 'score'; request: { vector: Float32Array; externalIds: string[] } }
  | { type: 'keywordStatistics'; terms: string[] }
  | { type: 'keywordSearch'; request: KeywordSearch }
  | { type: 'fetch'; request: { externalIds: string[]; vectors: boolean } }
  | { type: 'scan'; request: ScanRequest }
  | { type: 'count' }
  | { type: 'status' };

/** The `call` part of a request. */
export function readCallToProto(call: ReadCall): ReadRequest {
  switch (call.type) {
    case 'search': {
      const { vector, k, filter, effort, texts } = call.request;
      const ef = effort.type === 'ef' ? effort.ef : 0;
      return { search: { vector: vectorToProto(vector), k, filter: filterToProto(filter), ef, exact: effort.type === 'exact', texts } };
    }
    case 'score':
      return { score: { vector: vectorToProto(call.request.vector), externalIds: stringsToBytes(call.request.externalIds) } };
    case 'keywordStatistics':
      return { keywordStatistics: { terms: stringsToBytes(call.terms) } };
    case 'keywordSearch': {
      const { terms, statistics, k, filter } = call.request;
      return { keywordSearch: { terms: stringsToBytes(terms), statistics, k, filter: filterToProto(filter) } };
    }
    case 'fetch':
      return { fetch: { externalIds: stringsToBytes(call.request.externalIds), vectors: call.request.vectors } };
    case 'scan': {
      const { after, limit, filter, vectors, texts } = call.request;
      return {
        scan: {
          afterExternalId: after === null ? NOTHING : stringsToBytes([after.externalId]),
          afterStamp: after?.stamp ?? 0,
          limit,
          filter: filterToProto(filter),
          vectors,
          withoutTexts: texts === false,
        },
      };
    }
    case 'count':
      return { count: {} };
    case 'status':
      return { status: {} };
  }
}

/** The call of a request; vectors are copies. Errors: internal when the request holds none that is known here. */
export function readCallFromProto(request: ReadRequest__Output): ReadCall {
  const { search, score, keywordStatistics, keywordSearch, fetch, scan } = request;
  if (search) {
    const { k, texts } = search;
    const effort: SearchEffort = search.exact ? { type: 'exact' } : search.ef > 0 ? { type: 'ef', ef: search.ef } : { type: 'calibrated' };
    return { type: 'search', request: { vector: vectorFromProto(search.vector), k, filter: filterFromProto(search.filter), effort, texts } };
  }
  if (score) return { type: 'score', request: { vector: vectorFromProto(score.vector), externalIds: stringsFromBytes(score.externalIds) } };
  if (keywordStatistics) return { type: 'keywordStatistics', terms: stringsFromBytes(keywordStatistics.terms) };
  if (keywordSearch?.statistics) {
    const { terms, statistics, k, filter } = keywordSearch;
    return { type: 'keywordSearch', request: { terms: stringsFromBytes(terms), statistics, k, filter: filterFromProto(filter) } };
  }
  if (fetch) return { type: 'fetch', request: { externalIds: stringsFromBytes(fetch.externalIds), vectors: fetch.vectors } };
  if (scan) {
    const { limit, vectors, withoutTexts } = scan;
    const [externalId] = scan.afterExternalId.length === 0 ? [] : stringsFromBytes(scan.afterExternalId);
    const after = externalId === undefined ? null : { stamp: scan.afterStamp, externalId };
    return { type: 'scan', request: { after, limit, filter: filterFromProto(scan.filter), vectors, texts: !withoutTexts } };
  }
  if (request.count) return { type: 'count' };
  if (request.status) return { type: 'status' };
  throw new QuiverError('internal', 'a read of a kind that this node does not know');
}

/** Upper bound of the bytes that a call takes in a frame. */
export function readCallBytes(call: ReadCall): number {
  switch (call.type) {
    case 'search':
      return FIXED_BYTES + call.request.vector.byteLength + filterBytes(call.request.filter);
    case 'score':
      return FIXED_BYTES + call.request.vector.byteLength + stringsBytes(call.request.externalIds);
    case 'keywordStatistics':
      return FIXED_BYTES + stringsBytes(call.terms);
    case 'keywordSearch':
      return FIXED_BYTES + stringsBytes(call.request.terms) + call.request.terms.length * VARINT_BYTES + filterBytes(call.request.filter);
    case 'fetch':
      return FIXED_BYTES + stringsBytes(call.request.externalIds);
    case 'scan':
      return FIXED_BYTES + filterBytes(call.request.filter);
    case 'count':
    case 'status':
      return FIXED_BYTES;
  }
}

const NOTHING = Buffer.alloc(0);

/** The numbers, the tags, the shard's name and the id of a cursor. */
const FIXED_BYTES = 4_096;
const VARINT_BYTES = 10;

function stringsBytes(strings: readonly string[]): number {
  let bytes = 0;
  for (const string of strings) bytes += string.length * 3 + VARINT_BYTES;
  return bytes;
}

function filterBytes(filter: Filter | null): number {
  return filter === null ? 0 : Buffer.byteLength(filterToProto(filter));
}

function filterToProto(filter: Filter | null): string {
  return filter === null ? '' : JSON.stringify(filter);
}

function filterFromProto(text: string): Filter | null {
  if (text === '') return null;
  try {
    return JSON.parse(text) as Filter;
  } catch (error) {
    throw new QuiverError('internal', 'malformed filter', { cause: error });
  }
}

function vectorToProto(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function vectorFromProto(bytes: Buffer): Float32Array {
  if (bytes.length % 4 !== 0) throw new QuiverError('internal', 'malformed vector');
  const vector = new Float32Array(bytes.length / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}
