import { createHash } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { HitPlace } from '../../../shared/contract/shard/shard-read';
import { float32FromBytes } from '../../../shared/contract/vector/float32-bytes';
import type { CollectionRecord } from '../collections/collection-record';
import { cursorOf, elementsOf } from '../opaque-cursor';
import type { SearchRequest } from '../search-request';
import { type CursorSeal, SEAL_LENGTH } from './cursor-seal';
import { KeyDigests } from './key-digests';

/** Increased when the elements change their meaning; cursors of another version are refused. */
const VERSION = 4;
/** Of a cursor. */
const ELEMENTS = 8;
/** Enough of a digest to tell searches apart. */
const DIGEST_CHARACTERS = 22;
/** A vector of 65,536 dimensions, its base64 in JSON, and that in base64 again. */
const CURSOR_LENGTH_MAX = 1_048_576;
/** Clocks of coordinators differ by less. */
const AHEAD_MAX_MS = 60_000;

/** What all pages of a chain of cursors have in common, and where one of them begins. */
export interface SearchChain {
  /** Of all that decides the list. */
  digest: string;
  /** By the wall clock, when the first page was asked for. */
  beganMs: number;
  /** The list as its first page fixed it; null: this is the first page. */
  fixed: FixedList | null;
}

export interface FixedList {
  /** Of the shards. */
  uid: string;
  /** Of each shard, the highest version that belongs to the list. */
  versions: readonly number[];
  /** Of each list that is fused, or of the only one, what was made of a text or an item; null: nothing was. */
  vectors: readonly (Float32Array | null)[];
  /** Where the page begins; how it is made is up to who made it. */
  state: readonly unknown[];
}

/**
 * The chain that a request with a cursor goes on with, or begins. Errors: invalid_parameter for what is no cursor, is
 * of another collection, has ended or is too old; schema_violation for one of another search.
 */
export function chainOf(
  collection: CollectionRecord,
  request: SearchRequest,
  { text, secondsMax }: NonNullable<SearchRequest['page']['cursor']>,
  { nowMs, seal }: { nowMs: number; seal: CursorSeal },
): SearchChain {
  const digest = digestOf(request);
  if (text === null) return { digest, beganMs: nowMs, fixed: null };
  const elements = openedElements(text, seal);
  const [version, identity, uid, ofSearch, beganMs, versions, vectors, state] = elements;
  const isWhole =
    version === VERSION &&
    elements.length === ELEMENTS &&
    typeof identity === 'string' &&
    typeof uid === 'string' &&
    typeof ofSearch === 'string' &&
    Number.isSafeInteger(beganMs) &&
    Array.isArray(versions) &&
    versions.every((one) => Number.isSafeInteger(one) && one >= 0) &&
    Array.isArray(vectors) &&
    vectors.every((vector) => vector === null || typeof vector === 'string') &&
    Array.isArray(state);
  if (!isWhole) throw notOne();
  if (identity !== collection.identity)
    throw new QuiverError('invalid_parameter', 'Invalid cursor: it belongs to another collection');
  if (ofSearch !== digest)
    throw new QuiverError(
      'schema_violation',
      'cursor: it belongs to another search: between two pages only k and what hits carry may change',
    );
  const ageMs = nowMs - (beganMs as number);
  if (ageMs < -AHEAD_MAX_MS) throw notOne();
  if (ageMs > secondsMax * 1_000)
    throw new QuiverError(
      'invalid_parameter',
      `this cursor ended: its first page is more than ${secondsMax} seconds ago (CURSOR_SECONDS); ` +
        'begin again with cursor "first"',
    );
  if (uid !== collection.uid || versions.length !== collection.shards) throw reshardedSince();
  const made = (vectors as (string | null)[]).map((text) => (text === null ? null : vectorFrom(text, collection.dim)));
  return { digest, beganMs: beganMs as number, fixed: { uid, versions, vectors: made, state } };
}

/** The cursor of the page that begins at `state`. */
export function cursorOfChain(
  { identity }: CollectionRecord,
  { digest, beganMs }: SearchChain,
  { uid, versions, vectors, state }: FixedList,
  seal: CursorSeal,
): string {
  const texts = vectors.map((vector) =>
    vector === null ? null : Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
  );
  return seal.close(cursorOf([VERSION, identity, uid, digest, beganMs, versions, texts, state]));
}

/** Errors: invalid_parameter for one without the seal, also for those of program versions that sealed none. */
function openedElements(cursor: string, seal: CursorSeal): unknown[] {
  const text = seal.open(cursor);
  if (text !== null) return elementsOf(text, CURSOR_LENGTH_MAX - SEAL_LENGTH);
  if (elementsOf(cursor.slice(0, -SEAL_LENGTH), CURSOR_LENGTH_MAX).length === ELEMENTS)
    throw new QuiverError(
      'invalid_parameter',
      'Invalid cursor: this service did not seal it as it is: another one answered it, it was changed, or the cluster ' +
        'store was emptied or restored since; begin again with cursor "first"',
    );
  const { 0: version, length } = elementsOf(cursor, CURSOR_LENGTH_MAX);
  if (length !== ELEMENTS || typeof version !== 'number' || version >= VERSION) throw notOne();
  throw new QuiverError(
    'invalid_parameter',
    'this cursor ended: an earlier version of the service answered it; begin again with cursor "first"',
  );
}

/** The chain's shards are not those of the collection any more. */
export function reshardedSince(): QuiverError {
  return new QuiverError(
    'invalid_parameter',
    'this cursor ended: the collection was resharded; begin again with cursor "first"',
  );
}

export function notOne(): QuiverError {
  return new QuiverError('invalid_parameter', 'Invalid cursor: it is not one that a search answered');
}

/** A place in a list as elements of a cursor: scores may be infinite, which JSON does not know. */
export function placeToJson(place: HitPlace | null): readonly unknown[] {
  return place === null ? [] : [Number.isFinite(place.score) ? place.score : String(place.score), place.externalId];
}

/** Errors: invalid_parameter when they are no place. */
export function placeFromJson(json: unknown): HitPlace | null {
  if (!Array.isArray(json)) throw notOne();
  if (json.length === 0) return null;
  const [score, externalId] = json as unknown[];
  const number = score === 'Infinity' || score === '-Infinity' ? Number(score) : score;
  if (json.length !== 2 || typeof number !== 'number' || typeof externalId !== 'string') throw notOne();
  return { score: number, externalId };
}

/** Errors: invalid_parameter when it is no number of hits. */
export function countFromJson(json: unknown): number {
  if (!Number.isSafeInteger(json) || (json as number) < 0) throw notOne();
  return json as number;
}

/** Errors: invalid_parameter when they are no digests. */
export function digestsFromJson(json: unknown): KeyDigests {
  const digests = typeof json === 'string' ? KeyDigests.fromText(json) : null;
  if (digests === null) throw notOne();
  return digests;
}

function vectorFrom(text: string, dim: number): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== dim * Float32Array.BYTES_PER_ELEMENT) throw notOne();
  return float32FromBytes(bytes);
}

/** Of what is looked for and how, but not of how much of it an answer has. */
function digestOf({ query, page, rerank }: SearchRequest): string {
  const { k: _k, offset: _offset, cursor: _cursor, ...list } = page;
  const text = JSON.stringify([query, list, rerank ?? null], (_, value: unknown) =>
    value instanceof Float32Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  );
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARACTERS);
}
