import { QuiverError } from '../../shared/errors/quiver-error';
import type { Filter } from '../../shared/filter/filter';
import { type Hit, type KeywordSearch, LEFT_OUT, type RequestOf, type VectorSearch, type VectorSearchResult } from '../../shared/shard/shard-read';
import { inLaterSlices, inSlices, resultOf } from '../../shared/time/work-slices';
import type { RecordStore } from '../records/record-store';
import type { SlotAllocator } from '../records/slot-allocator';
import type { SlotScores } from '../slots/slot-scores';
import type { SlotSet } from '../slots/slot-set';
import { type FoundHit, orderedHits, type ScoredSlot } from './ordered-hits';
import { ReadSteps } from './read-steps';
import { SearchCounter } from './search-counter';
import type { ShardIndexes } from './shard-indexes';

/** How often a search whose candidates are deleted meanwhile is repeated, each time for as many candidates more. */
const ATTEMPTS_MAX = 4;
/**
 * Items replaced while they are scored are scored again. Every round needs a write that overtakes the search, so there
 * are few.
 */
const ROUNDS_MAX = 64;

/** Candidates scored before others are served: their metadata and scores take the thread a few milliseconds. */
const SCORED_AT_ONCE = 1_000;

/** From this many hits on, they are built in slices: ten thousand take the thread about 20 ms. */
const SLICED_HITS = 1_000;

/**
 * Searches one shard. A search sees every write that was answered before it began. An item deleted while it runs is
 * left out; a replaced item is scored in its new version. So an old version is never answered, and an item that exists
 * all the time is never missed.
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
    const counter = request.counted === true ? new SearchCounter() : null;
    if (request.filter !== null) await indexes.filters.prepare(request.filter);
    const epoch = slots.beginRead();
    try {
      let wanted = request.k;
      for (let attempt = 1; ; attempt++) {
        const allowed = this.allowed(request.filter);
        const candidateCount = allowed === null ? indexes.directory.liveCount : allowed.size;
        counter?.filtered(candidateCount);
        if (candidateCount === 0) return { hits: [], vectorCount: indexes.directory.liveCount, ...counter?.counts };
        const found = await indexes.vectors.search(request.vector, { k: wanted, effort: request.effort, allowed, counted: request.counted });
        counter?.searched(found);
        const { hits, goneCount } = await this.upToDate(found, request, epoch);
        counter?.made();
        // Items that the index did not return score at most as high as its last answer. Below that score, other items
        // may be better than these hits.
        const isWhole = found.slots.length < wanted || found.slots.length >= candidateCount;
        const isFull = hits.length === request.k && hits[request.k - 1].hit.score >= found.scores[found.scores.length - 1];
        const isSure = goneCount === 0 || isWhole || isFull;
        if (!isSure && attempt < ATTEMPTS_MAX) {
          wanted = request.k + 2 * goneCount;
          continue;
        }
        const isRead = !request.texts || (await this.addTexts(hits, request.bytesMax ?? Infinity));
        counter?.readTexts();
        if (!isRead) {
          // Bringing a write forward brings it closer to its end, so this loop ends, too.
          if (this.parts.bringForward(hits.map(({ slot }) => slot))) attempt--;
          if (attempt < ATTEMPTS_MAX) continue;
          throw overtaken();
        }
        return { hits: hits.map(({ hit }) => hit), vectorCount: indexes.directory.liveCount, ...counter?.counts };
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  async score(request: RequestOf<'score'>): Promise<Hit[]> {
    const { slots } = this.parts;
    const { bytesMax = Infinity } = request;
    let bytes = 0;
    const epoch = slots.beginRead();
    try {
      const hits: Hit[] = [];
      for (let from = 0; from < request.externalIds.length; from += SCORED_AT_ONCE) {
        const externalIds = request.externalIds.slice(from, from + SCORED_AT_ONCE);
        for (const hit of await this.scoreOf(request.vector, externalIds, bytesMax - bytes)) {
          if (hit === undefined) continue;
          bytes += hit.externalId.length + hit.metadata.length;
          hits.push(hit);
        }
      }
      return hits;
    } finally {
      slots.endRead(epoch);
    }
  }

  /** By position in `externalIds`; undefined for items that do not exist. */
  private async scoreOf(vector: Float32Array, externalIds: string[], bytesMax: number): Promise<(Hit | undefined)[]> {
    const { directory, vectors } = this.parts.indexes;
    const found: (Hit | undefined)[] = new Array(externalIds.length);
    let left = externalIds.map((_, i) => i);
    for (let round = 1; left.length > 0; round++) {
      if (round > ROUNDS_MAX) throw overtaken();
      const known = left.map((i) => ({ i, slot: directory.slotOf(externalIds[i]) })).filter(({ slot }) => slot >= 0);
      let bytes = 0;
      const metadata = known.map(({ slot }) => {
        if (bytes >= bytesMax) return LEFT_OUT;
        const text = directory.metadataOf(slot);
        bytes += text.length;
        return text;
      });
      const scores = await vectors.score(
        vector,
        Uint32Array.from(known, ({ slot }) => slot),
      );
      known.forEach(({ i, slot }, n) => {
        const isGone = Number.isNaN(scores[n]) && !directory.isLive(slot);
        found[i] = isGone ? undefined : { externalId: externalIds[i], score: scores[n], metadata: metadata[n] };
      });
      left = known.filter(({ i }) => found[i] === undefined).map(({ i }) => i);
    }
    return found;
  }

  async keywordSearch(request: KeywordSearch): Promise<Hit[]> {
    const { indexes, slots } = this.parts;
    const { keywords, directory, filters } = indexes;
    if (request.filter !== null) await filters.prepare(request.filter);
    // Many short texts have equal scores, so ids decide which of them are the best k.
    const nameOf = (slot: number): string => (directory.isLive(slot) ? directory.externalIdOf(slot) : '');
    // A slot that is emptied between two slices stays empty until the read ends.
    const epoch = slots.beginRead();
    try {
      for (let round = 1; round <= ATTEMPTS_MAX; round++) {
        const steps = keywords.searchInSteps(request.terms, request.statistics, { k: request.k, allowed: () => this.allowed(request.filter), nameOf });
        // The last round runs at once, so that nothing can be removed meanwhile.
        const found = round < ATTEMPTS_MAX ? await inSlices(steps) : resultOf(steps);
        const hits = await this.made(pairsOf(found), request, round);
        if (hits !== null) return hits.map(({ hit }) => hit);
      }
      throw overtaken();
    } finally {
      slots.endRead(epoch);
    }
  }

  private allowed(filter: Filter | null): SlotSet | null {
    return filter === null ? null : this.parts.indexes.filters.resolve(filter);
  }

  /**
   * The hits for the slots found. Items that were replaced since `epoch` appear in their new version if that passes the
   * filter; items that are gone are left out. `goneCount`: how many of the slots found were out of date.
   */
  private async upToDate(found: SlotScores, request: VectorSearch, epoch: number): Promise<{ hits: FoundHit[]; goneCount: number }> {
    const { indexes, slots } = this.parts;
    const isLive = (slot: number): boolean => indexes.directory.isLive(slot);
    let scored = pairsOf(found);
    let goneCount = 0;
    // The index misses an item if its old version was removed before its row was reached and its new one was not there yet.
    let moved = slots.movedSince(epoch);
    for (let round = 1; ; round++) {
      const gone = scored.filter(({ slot }) => !isLive(slot));
      if (gone.length === 0 && moved.length === 0) {
        const hits = await this.made(scored, request, round);
        if (hits !== null) return { hits, goneCount };
        continue;
      }
      if (round > ROUNDS_MAX) throw overtaken();
      goneCount += gone.length;
      const kept = scored.filter(({ slot }) => isLive(slot));
      const keptSlots = new Set(kept.map(({ slot }) => slot));
      const allowed = this.allowed(request.filter);
      const successors = [...moved, ...gone.map(({ slot }) => slots.successorOf(slot))];
      moved = [];
      // The index may have found the new version already.
      const added = [...new Set(successors)].filter((slot) => slot >= 0 && isLive(slot) && !keptSlots.has(slot) && (allowed === null || allowed.has(slot)));
      const scores = await indexes.vectors.score(request.vector, Uint32Array.from(added));
      scored = [...kept, ...added.map((slot, i) => ({ slot, score: scores[i] }))].sort((a, b) => b.score - a.score);
    }
  }

  /** See orderedHits: in slices if there are many. Later rounds run at once, so that nothing can be removed between two steps. */
  private made(scored: ScoredSlot[], { k, bytesMax }: { k: number; bytesMax?: number | undefined }, round: number): FoundHit[] | null | Promise<FoundHit[] | null> {
    const steps = orderedHits(this.parts.indexes.directory, scored, k, bytesMax);
    return scored.length < SLICED_HITS || round >= ATTEMPTS_MAX ? resultOf(steps) : inLaterSlices(steps);
  }

  /**
   * The texts of the hits that have their metadata, until there are `bytesMax` of both: what is behind is left out. False if a
   * record was deleted before it was read: its item was replaced or deleted.
   */
  private async addTexts(hits: FoundHit[], bytesMax: number): Promise<boolean> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    for (const { hit } of hits) hit.text = '';
    const steps = new ReadSteps(bytesMax);
    for (let from = 0; from < hits.length;) {
      const some = hits.slice(from, from + steps.next());
      from += some.length;
      const withText = some.filter(({ slot, hit }) => hit.metadata !== LEFT_OUT && directory.hasText(slot));
      if (withText.length > 0) {
        const texts = await records.readTexts(withText.map(({ slot }) => directory.recnoOf(slot)));
        withText.forEach(({ hit }, i) => (hit.text = texts[i] ?? ''));
        if (texts.includes(undefined)) return false;
      }
      for (const { hit } of some) {
        if (steps.isFull) leaveOut(hit);
        else steps.add(hit.externalId.length + hit.metadata.length + hit.text!.length);
      }
      if (!steps.isFull) continue;
      for (const { hit } of hits.slice(from)) leaveOut(hit);
      break;
    }
    return true;
  }
}

function pairsOf(found: SlotScores): ScoredSlot[] {
  return Array.from(found.slots, (slot, i) => ({ slot, score: found.scores[i] }));
}

function leaveOut(hit: Hit): void {
  hit.metadata = LEFT_OUT;
  hit.text = '';
}

function overtaken(): QuiverError {
  return new QuiverError('unavailable', 'the items found change faster than they can be read; the call may be retried');
}
