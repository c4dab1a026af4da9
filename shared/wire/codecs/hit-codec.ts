import { isAscii } from 'node:buffer';
import { QuiverError } from '../../base/errors/quiver-error';
import { copyBytes, Slab } from '../../base/memory/slab';
import type { Hit } from '../../contract/shard/shard-read';
import { encodingOf } from '../../base/text/text-encoding';

/**
 * Hits as bytes, which takes a third of the time of protobuf messages. Little-endian; lengths count UTF-16 code units,
 * so that all strings together are one piece of text, encoded and decoded in one step:
 *
 *   u32 number of hits, u32 encoding of the strings (0 UTF-8, 1 UTF-16: some string is not well-formed Unicode; 2
 *   UTF-8, and lengths count bytes: never sent; with 16 added to it, hits have versions)
 *   each: f64 score, u32 length of id, u32 length of metadata, u32 length of text (NO_TEXT: none), with versions f64
 *     version (NaN: none)
 *   id, metadata, text of the first hit, then of the second, …
 */
const HEADER_BYTES = 8;
const HIT_BYTES = 20;
const NO_TEXT = 0xffffffff;
const WITH_VERSIONS = 16;
const ENCODING = { utf8: 0, utf16le: 1, bytes: 2 } as const;
/** Hits as bytes are forgotten as soon as they are sent. */
const slab = new Slab();

export function hitsToBytes(hits: readonly Hit[]): Buffer {
  let strings = '';
  for (const hit of hits)
    strings += hit.text === undefined ? hit.externalId + hit.metadata : hit.externalId + hit.metadata + hit.text;
  const encoding = encodingOf(strings);
  const hasVersions = hits.some(({ version }) => version !== undefined);
  const stringsAt = HEADER_BYTES + hits.length * (HIT_BYTES + (hasVersions ? 8 : 0));
  const bytes = Buffer.allocUnsafe(stringsAt + Buffer.byteLength(strings, encoding));
  bytes.writeUInt32LE(hits.length, 0);
  bytes.writeUInt32LE(ENCODING[encoding] + (hasVersions ? WITH_VERSIONS : 0), 4);
  let at = HEADER_BYTES;
  for (const hit of hits) {
    bytes.writeDoubleLE(hit.score, at);
    bytes.writeUInt32LE(hit.externalId.length, at + 8);
    bytes.writeUInt32LE(hit.metadata.length, at + 12);
    bytes.writeUInt32LE(hit.text === undefined ? NO_TEXT : hit.text.length, at + 16);
    at = hasVersions ? bytes.writeDoubleLE(hit.version ?? NaN, at + HIT_BYTES) : at + HIT_BYTES;
  }
  bytes.write(strings, stringsAt, encoding);
  return bytes;
}

/** What hits are made of that lie in memory in the form in which they are sent, but for being apart. */
export interface TextsBySlot {
  /**
   * Bytes of the id of a live slot and of its metadata, which follow it, all UTF-8; -1: it is not live, or they are not
   * in memory in this form.
   */
  textBytesOf(slot: number): number;
  /** Those of the id alone. */
  idBytesOf(slot: number): number;
  /** Copies them to a place in `target`. */
  copyText(slot: number, target: Buffer, at: number): void;
}

export interface ScoredSlots {
  slots: ArrayLike<number>;
  scores: ArrayLike<number>;
  count: number;
}

/**
 * What {@link hitsToBytes} makes of the best `k` of these slots, without making a string of any. null: it is to be done
 * in that way, because a slot has no text in memory, two have the same score, whose order is that of their ids, or a
 * text is not ASCII, whose bytes are its code units, or there are more than `bytesMax`.
 */
export function sentHitsOf(items: TextsBySlot, found: ScoredSlots, k: number, bytesMax?: number): Buffer | null {
  const bytes = bytesOf(items, found, k, ENCODING.utf8, bytesMax);
  return bytes !== null && isAscii(bytes.subarray(HEADER_BYTES + bytes.readUInt32LE(0) * HIT_BYTES)) ? bytes : null;
}

/** The same for whoever makes text of them in this process, with texts of all kinds, whose lengths count bytes. */
export function utf8HitsOf(items: TextsBySlot, found: ScoredSlots, k: number, bytesMax?: number): Buffer | null {
  return bytesOf(items, found, k, ENCODING.bytes, bytesMax);
}

function bytesOf(
  items: TextsBySlot,
  { slots, scores, count }: ScoredSlots,
  k: number,
  encoding: number,
  bytesMax = Infinity,
): Buffer | null {
  const hits = Math.min(count, k);
  let textBytes = 0;
  for (let i = 0; i < hits; i++) {
    if (i > 0 && scores[i] === scores[i - 1]) return null;
    const bytes = items.textBytesOf(slots[i]);
    if (bytes < 0) return null;
    textBytes += bytes;
  }
  if (count > hits && hits > 0 && scores[hits] === scores[hits - 1]) return null;
  if (textBytes > bytesMax) return null;
  const textsAt = HEADER_BYTES + hits * HIT_BYTES;
  const bytes = slab.take(textsAt + textBytes);
  bytes.writeUInt32LE(hits, 0);
  bytes.writeUInt32LE(encoding, 4);
  let at = HEADER_BYTES;
  let textAt = textsAt;
  for (let i = 0; i < hits; i++) {
    const slot = slots[i];
    const idBytes = items.idBytesOf(slot);
    const both = items.textBytesOf(slot);
    // Another thread may change it at this moment. Then the answer is thrown away, but not before it is made.
    if (both < idBytes || textAt + both > bytes.length) return null;
    bytes.writeDoubleLE(scores[i], at);
    bytes.writeUInt32LE(idBytes, at + 8);
    bytes.writeUInt32LE(both - idBytes, at + 12);
    bytes.writeUInt32LE(NO_TEXT, at + 16);
    items.copyText(slot, bytes, textAt);
    at += HIT_BYTES;
    textAt += both;
  }
  return textAt === bytes.length ? bytes : null;
}

/** How many hits are in what {@link utf8HitsOf} makes. */
export function packedCount(hits: Buffer): number {
  return hits.readUInt32LE(0);
}

/**
 * What {@link utf8HitsOf} makes, of hits that were sent; the same memory. null: they have texts, or not only ASCII,
 * or some have no metadata, or they are malformed.
 */
export function packedFromSent(bytes: Buffer): Buffer | null {
  const count = bytes.length < HEADER_BYTES ? -1 : bytes.readUInt32LE(0);
  let end = HEADER_BYTES + count * HIT_BYTES;
  if (count < 0 || end > bytes.length || bytes.readUInt32LE(4) !== ENCODING.utf8) return null;
  for (let i = 0, at = HEADER_BYTES; i < count; i++, at += HIT_BYTES) {
    const metadataBytes = bytes.readUInt32LE(at + 12);
    if (bytes.readUInt32LE(at + 16) !== NO_TEXT || metadataBytes === 0) return null;
    end += bytes.readUInt32LE(at + 8) + metadataBytes;
  }
  // Of several bytes, a character is fewer code units.
  if (end !== bytes.length) return null;
  bytes.writeUInt32LE(ENCODING.bytes, 4);
  return bytes;
}

/**
 * The best `k` of several lists of packed hits, each of them in the order of answers. null: two lists have the same
 * score, whose order is that of ids.
 */
export function mergedPackedHits(lists: readonly Buffer[], k: number): Buffer | null {
  const heads = lists.map(() => 0);
  const counts = lists.map((list) => list.readUInt32LE(0));
  const order: number[] = [];
  let textBytes = 0;
  while (order.length < k) {
    const best = bestHead(lists, heads, counts);
    if (best === TIED) return null;
    if (best === NONE) break;
    const at = HEADER_BYTES + heads[best]++ * HIT_BYTES;
    textBytes += lists[best].readUInt32LE(at + 8) + lists[best].readUInt32LE(at + 12);
    order.push(best);
  }
  const merged = slab.take(HEADER_BYTES + order.length * HIT_BYTES + textBytes);
  merged.writeUInt32LE(order.length, 0);
  merged.writeUInt32LE(ENCODING.bytes, 4);
  const textsFrom = counts.map((count) => HEADER_BYTES + count * HIT_BYTES);
  heads.fill(0);
  let at = HEADER_BYTES;
  let textAt = HEADER_BYTES + order.length * HIT_BYTES;
  for (const one of order) {
    const list = lists[one];
    const from = HEADER_BYTES + heads[one]++ * HIT_BYTES;
    const bytes = list.readUInt32LE(from + 8) + list.readUInt32LE(from + 12);
    copyBytes(list, from, merged, at, HIT_BYTES);
    copyBytes(list, textsFrom[one], merged, textAt, bytes);
    textsFrom[one] += bytes;
    at += HIT_BYTES;
    textAt += bytes;
  }
  return merged;
}

const NONE = -1;
const TIED = -2;

/** The list whose next hit scores best; NONE: there are no more; TIED: there are two of them. */
function bestHead(lists: readonly Buffer[], heads: readonly number[], counts: readonly number[]): number {
  let best = NONE;
  let score = NaN;
  let isTied = false;
  for (let i = 0; i < lists.length; i++) {
    if (heads[i] === counts[i]) continue;
    const own = lists[i].readDoubleLE(HEADER_BYTES + heads[i] * HIT_BYTES);
    if (best === NONE || own > score) {
      [best, score, isTied] = [i, own, false];
    } else {
      isTied ||= !(own < score);
    }
  }
  return isTied ? TIED : best;
}

/** The hits that `bytes` hold. Errors: internal when they are malformed. */
export function hitsFromBytes(bytes: Buffer): Hit[] {
  const count = bytes.length < HEADER_BYTES ? -1 : bytes.readUInt32LE(0);
  const form = count < 0 ? 0 : bytes.readUInt32LE(4);
  const [hasVersions, encoding] = [form >= WITH_VERSIONS, form % WITH_VERSIONS];
  const rowBytes = HIT_BYTES + (hasVersions ? 8 : 0);
  const stringsAt = HEADER_BYTES + count * rowBytes;
  if (count < 0 || stringsAt > bytes.length) throw new QuiverError('internal', 'malformed hits');
  // Where lengths count bytes, a character for each of them is cut in the right places.
  const isBytes = encoding === ENCODING.bytes;
  const strings = bytes.toString(isBytes ? 'latin1' : encoding === ENCODING.utf8 ? 'utf8' : 'utf16le', stringsAt);
  const hits: Hit[] = new Array(count);
  let from = 0;
  for (let i = 0, at = HEADER_BYTES; i < count; i++, at += rowBytes) {
    const metadataAt = from + bytes.readUInt32LE(at + 8);
    const textAt = metadataAt + bytes.readUInt32LE(at + 12);
    const textLength = bytes.readUInt32LE(at + 16);
    const hit: Hit = {
      externalId: strings.slice(from, metadataAt),
      score: bytes.readDoubleLE(at),
      metadata: strings.slice(metadataAt, textAt),
    };
    from = textAt;
    if (textLength !== NO_TEXT) {
      from += textLength;
      hit.text = strings.slice(textAt, from);
    }
    const version = hasVersions ? bytes.readDoubleLE(at + HIT_BYTES) : NaN;
    if (!Number.isNaN(version)) hit.version = version;
    hits[i] = hit;
  }
  if (from !== strings.length) throw new QuiverError('internal', 'malformed hits');
  return isBytes ? hits.map(decoded) : hits;
}

function decoded({ externalId, score, metadata }: Hit): Hit {
  const text = (bytes: string): string => Buffer.from(bytes, 'latin1').toString();
  return { externalId: text(externalId), score, metadata: text(metadata) };
}
