import { compareHits, type Hit } from '../../shared/shard/shard-read';
import type { FoundSlots } from '../vector/shared-vectors';

const HITS_PER_STEP = 256;

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
 * them is not live, or was removed between two steps.
 */
export function* orderedHits(items: ItemsBySlot, scored: ScoredSlot[], k: number): Generator<undefined, FoundHit[] | null> {
  const hits: FoundHit[] = [];
  let isTied = false;
  for (const { slot, score } of scored) {
    const last = hits[hits.length - 1]?.hit.score;
    if (hits.length >= k && score < last) break;
    if (!items.isLive(slot)) return null;
    isTied ||= score === last;
    hits.push({ slot, hit: { externalId: items.externalIdOf(slot), score, metadata: '' } });
    if (hits.length % HITS_PER_STEP === 0) yield;
  }
  if (isTied) hits.sort((a, b) => compareHits(a.hit, b.hit));
  if (hits.length > k) hits.length = k;
  for (let i = 0; i < hits.length; i++) {
    const { slot, hit } = hits[i];
    if (!items.isLive(slot)) return null;
    hit.metadata = items.metadataOf(slot);
    if (i % HITS_PER_STEP === HITS_PER_STEP - 1) yield;
  }
  return hits.every(({ slot }) => items.isLive(slot)) ? hits : null;
}

/**
 * The same at once, of what an index has found, from items that do not change meanwhile: for short answers, of which there are
 * most.
 */
export function hitsNow(items: HitsBySlot, { slots, scores, count }: FoundSlots, k: number): Hit[] | null {
  const hits: Hit[] = [];
  let isTied = false;
  for (let i = 0; i < count; i++) {
    const score = scores[i];
    if (i >= k && score < scores[i - 1]) break;
    isTied ||= i > 0 && score === scores[i - 1];
    const hit = items.hitOf(slots[i], score);
    if (hit === null) return null;
    hits.push(hit);
  }
  if (isTied) hits.sort(compareHits);
  if (hits.length > k) hits.length = k;
  return hits;
}
