import { QuiverError } from '../../shared/errors/quiver-error';
import type { Filter } from '../../shared/filter/filter';
import type { Hit, KeywordSearch, KeywordStatistics, VectorSearch, VectorSearchResult } from '../../shared/shard/shard-client';
import type { RecordStore } from '../records/record-store';
import type { SlotAllocator } from '../records/slot-allocator';
import type { SlotScores } from '../slots/slot-scores';
import type { SlotSet } from '../slots/slot-set';
import type { ShardIndexes } from './shard-indexes';

/** A search whose candidates are deleted under it is asked again at most this often, each time for as many more. */
const ATTEMPTS_MAX = 4;
/** Items replaced while they are scored are scored again; every round needs a write that overtakes it, so few are seen. */
const ROUNDS_MAX = 64;

interface ScoredSlot {
  slot: number;
  score: number;
}

interface FoundHit {
  slot: number;
  hit: Hit;
}

/**
 * Searching one shard. A search sees every write that was answered before it began. What is deleted while it runs is
 * left out; what is replaced is scored in its new version: an old version is never answered, and an item that is there
 * all the time never missed.
 */
export class ShardSearch {
  constructor(
    private readonly parts: {
      records: RecordStore;
      indexes: ShardIndexes;
      slots: SlotAllocator;
      /** See ShardWriter. */
      bringForward(slots: number[]): boolean;
    },
  ) {}

  /** Errors: unavailable when the items found change faster than their texts can be read. */
  async search(request: VectorSearch): Promise<VectorSearchResult> {
    const { indexes, slots } = this.parts;
    if (request.filter !== null) await indexes.filters.prepare(request.filter);
    const epoch = slots.beginRead();
    try {
      let wanted = request.k;
      for (let attempt = 1; ; attempt++) {
        const allowed = this.allowed(request.filter);
        const candidateCount = allowed === null ? indexes.directory.liveCount : allowed.size;
        if (candidateCount === 0) return { hits: [], vectorCount: indexes.directory.liveCount };
        const found = await indexes.vectors.search(request.vector, { k: wanted, effort: request.effort, allowed });
        const { scored, goneCount } = await this.upToDate(found, request);
        const hits = this.hitsOf(scored, request.k);
        // What the index did not name scores at most as its last answer does: hits below that may not be the next best.
        const isWhole = found.slots.length < wanted || found.slots.length >= candidateCount;
        const isFull = hits.length === request.k && hits[request.k - 1].hit.score >= found.scores[found.scores.length - 1];
        const isSure = goneCount === 0 || isWhole || isFull;
        if (!isSure && attempt < ATTEMPTS_MAX) {
          wanted = request.k + 2 * goneCount;
          continue;
        }
        if (request.texts && !(await this.addTexts(hits))) {
          // Bringing a write forward gets it nearer to its end, so that this comes to one, too.
          if (this.parts.bringForward(hits.map(({ slot }) => slot))) attempt--;
          if (attempt < ATTEMPTS_MAX) continue;
          throw overtaken();
        }
        return { hits: hits.map(({ hit }) => hit), vectorCount: indexes.directory.liveCount };
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  async score(request: { vector: Float32Array; externalIds: string[] }): Promise<Hit[]> {
    const { indexes, slots } = this.parts;
    const { directory } = indexes;
    const epoch = slots.beginRead();
    try {
      const found: (Hit | undefined)[] = new Array(request.externalIds.length);
      let left = request.externalIds.map((_, i) => i);
      for (let round = 1; left.length > 0; round++) {
        if (round > ROUNDS_MAX) throw overtaken();
        const known = left.map((i) => ({ i, slot: directory.slotOf(request.externalIds[i]) })).filter(({ slot }) => slot >= 0);
        const metadata = known.map(({ slot }) => directory.metadataOf(slot));
        const scores = await indexes.vectors.score(request.vector, Uint32Array.from(known, ({ slot }) => slot));
        known.forEach(({ i, slot }, n) => {
          const isGone = Number.isNaN(scores[n]) && !directory.isLive(slot);
          found[i] = isGone ? undefined : { externalId: request.externalIds[i], score: scores[n], metadata: metadata[n] };
        });
        left = known.filter(({ i }) => found[i] === undefined).map(({ i }) => i);
      }
      return found.filter((hit) => hit !== undefined);
    } finally {
      slots.endRead(epoch);
    }
  }

  keywordStatistics(terms: string[]): KeywordStatistics {
    return this.parts.indexes.keywords.statistics(terms);
  }

  async keywordSearch(request: KeywordSearch): Promise<Hit[]> {
    const { keywords, directory, filters } = this.parts.indexes;
    if (request.filter !== null) await filters.prepare(request.filter);
    const allowed = this.allowed(request.filter);
    if (allowed !== null && allowed.size === 0) return [];
    // Whole groups of short texts score alike, so that which of them are the best k is for their ids to say.
    const nameOf = (slot: number): string => directory.externalIdOf(slot);
    const found = keywords.search(request.terms, request.statistics, { k: request.k, allowed, nameOf });
    return this.hitsOf(pairsOf(found), request.k).map(({ hit }) => hit);
  }

  private allowed(filter: Filter | null): SlotSet | null {
    return filter === null ? null : this.parts.indexes.filters.resolve(filter);
  }

  /**
   * What was found, with items that were replaced since in their new version where that passes the filter, and without
   * those that are gone. `goneCount`: how many of the slots found were not up to date.
   */
  private async upToDate(found: SlotScores, request: VectorSearch): Promise<{ scored: ScoredSlot[]; goneCount: number }> {
    const { indexes, slots } = this.parts;
    let scored = pairsOf(found);
    let goneCount = 0;
    for (let round = 1; ; round++) {
      const gone = scored.filter(({ slot }) => !indexes.directory.isLive(slot));
      if (gone.length === 0) return { scored, goneCount };
      if (round > ROUNDS_MAX) throw overtaken();
      goneCount += gone.length;
      const kept = scored.filter(({ slot }) => indexes.directory.isLive(slot));
      const keptSlots = new Set(kept.map(({ slot }) => slot));
      const allowed = this.allowed(request.filter);
      // The index may have found the new version already.
      const moved = gone
        .map(({ slot }) => slots.successorOf(slot))
        .filter((slot) => slot >= 0 && indexes.directory.isLive(slot) && !keptSlots.has(slot) && (allowed === null || allowed.has(slot)));
      const scores = await indexes.vectors.score(request.vector, Uint32Array.from(moved));
      scored = [...kept, ...moved.map((slot, i) => ({ slot, score: scores[i] }))].sort((a, b) => b.score - a.score);
    }
  }

  /** The best `k` of live slots, given by falling score, in the order of answers: ties by external id. */
  private hitsOf(scored: ScoredSlot[], k: number): FoundHit[] {
    const { directory } = this.parts.indexes;
    const hits: FoundHit[] = [];
    let isTied = false;
    for (const { slot, score } of scored) {
      const last = hits[hits.length - 1]?.hit.score;
      if (hits.length >= k && score < last) break;
      isTied ||= score === last;
      hits.push({ slot, hit: { externalId: directory.externalIdOf(slot), score, metadata: '' } });
    }
    if (isTied) hits.sort(inAnswerOrder);
    if (hits.length > k) hits.length = k;
    for (const { slot, hit } of hits) hit.metadata = directory.metadataOf(slot);
    return hits;
  }

  /** False when a record went before it was read: its item was replaced or deleted. */
  private async addTexts(hits: FoundHit[]): Promise<boolean> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    const withText = hits.filter(({ slot }) => directory.hasText(slot));
    for (const { hit } of hits) hit.text = '';
    if (withText.length === 0) return true;
    const texts = await records.readTexts(withText.map(({ slot }) => directory.recnoOf(slot)));
    withText.forEach(({ hit }, i) => (hit.text = texts[i] ?? ''));
    return !texts.includes(undefined);
  }
}

function inAnswerOrder({ hit: a }: FoundHit, { hit: b }: FoundHit): number {
  return b.score - a.score || (a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0);
}

function pairsOf(found: SlotScores): ScoredSlot[] {
  return Array.from(found.slots, (slot, i) => ({ slot, score: found.scores[i] }));
}

function overtaken(): QuiverError {
  return new QuiverError('unavailable', 'the items found change faster than they can be read; the call may be retried');
}
