import { compareHits, type Hit, LEFT_OUT } from '../../../../shared/contract/shard/shard-read';
import type { FoundSlots } from '../../vector/shared-vectors';

const HITS_PER_STEP = 256;
/** Reading so much metadata takes the thread about a millisecond. */
const STEP_BYTES = 1024 * 1024;
/** From this many hits on, steps end at hits, too: ten thousand take the thread about 20 ms. */
const MANY_HITS = 1_000;

export interface ScoredSlot {
  slot: number;
  score: number;
}

export interface FoundHit {
  slot: number;
  hit: Hit;
}

/** What {@link hitsNow} makes hits of. */
export interface HitsBySlot {
  /** null for a slot that is not live. */
  hitOf(slot: number, score: number): Hit | null;
}

/** What answers are made of: a directory, or a view of one. */
export interface ItemsBySlot {
  isLive(slot: number): boolean;
  externalIdOf(slot: number): string;
  metadataOf(slot: number): string;
}

/**
 * The best `k` of live slots, given by descending score, in the order of answers: ties by external id. Null if one of
 * them is not live, or was removed between two steps. Metadata, and versions where these are wanted, are left out
 * behind `bytesMax`. One step if they are few and small.
 */
export function* orderedHits(
  items: ItemsBySlot,
  scored: ScoredSlot[],
  k: number,
  bytesMax = Infinity,
  versionOf?: (slot: number) => number,
): Generator<undefined, FoundHit[] | null> {
  const hits: FoundHit[] = [];
  const hitsPerStep = scored.length < MANY_HITS ? Infinity : HITS_PER_STEP;
  let isTied = false;
  for (const { slot, score } of scored) {
    const last = hits[hits.length - 1]?.hit.score;
    if (hits.length >= k && score < last) break;
    if (!items.isLive(slot)) return null;
    isTied ||= score === last;
    hits.push({ slot, hit: { externalId: items.externalIdOf(slot), score, metadata: LEFT_OUT } });
    if (hits.length % hitsPerStep === 0) yield;
  }
  if (isTied) hits.sort((a, b) => compareHits(a.hit, b.hit));
  if (hits.length > k) hits.length = k;
  let stepEnd = STEP_BYTES;
  for (let i = 0, bytes = 0; i < hits.length && bytes < bytesMax; i++) {
    const { slot, hit } = hits[i];
    if (!items.isLive(slot)) return null;
    hit.metadata = items.metadataOf(slot);
    if (versionOf !== undefined) hit.version = versionOf(slot);
    bytes += hit.externalId.length + hit.metadata.length;
    if (bytes < stepEnd && (i + 1) % hitsPerStep !== 0) continue;
    stepEnd = bytes + STEP_BYTES;
    yield;
  }
  return hits.every(({ slot }) => items.isLive(slot)) ? hits : null;
}

/**
 * The same at once, of what an index has found, from items that do not change meanwhile: for short answers, of which
 * there are most. null also for one of more than `bytesMax`.
 */
export function hitsNow(
  items: HitsBySlot,
  { slots, scores, count }: FoundSlots,
  k: number,
  bytesMax = Infinity,
): Hit[] | null {
  const hits: Hit[] = [];
  let isTied = false;
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const score = scores[i];
    if (i >= k && score < scores[i - 1]) break;
    isTied ||= i > 0 && score === scores[i - 1];
    const hit = items.hitOf(slots[i], score);
    if (hit === null) return null;
    // So many are for the shard's own thread, which leaves out what is behind.
    bytes += hit.externalId.length + hit.metadata.length;
    if (bytes > bytesMax) return null;
    hits.push(hit);
  }
  if (isTied) hits.sort(compareHits);
  if (hits.length > k) hits.length = k;
  return hits;
}
