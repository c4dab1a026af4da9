import type { Filter } from '../../../../shared/contract/filter/filter';
import { type Boosts, filtersOfBoosts } from '../../../../shared/contract/shard/boosts';
import {
  compareHits,
  type Hit,
  type KeywordSearch,
  LEFT_OUT,
  type ListPart,
  type RequestOf,
  type VectorSearch,
  type VectorSearchResult,
} from '../../../../shared/contract/shard/shard-read';
import { inLaterSlices, inSlices, ownTurn, resultOf } from '../../../../shared/base/time/work-slices';
import type { RecordStore } from '../../records/record-store';
import type { SlotAllocator } from '../../directory/slot-allocator';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import type { SlotScores } from '../../slots/slot-scores';
import type { SlotSet } from '../../slots/slot-set';
import { InlineBoosts, isTold } from './inline-boosts';
import { keepTerms } from './keyword-expansions';
import { boostedKeywords, boostedList, boostedParts, firstBoosted, readBoosted } from './boosted-search';
import { type CutHits, cutTies } from './border-ties';
import { KEPT_PARTS } from './kept-parts';
import { type DeepList, keywordListName, ListParts, type ListSearch, vectorListName } from './list-parts';
import { type FoundHit, orderedHits, type ScoredSlot } from './ordered-hits';
import { ReadSteps } from './read-steps';
import { SearchCounter } from './search-counter';
import { boostedScores, ShardBoosts } from './shard-boosts';
import type { ShardIndexes } from '../shard-indexes';

/** How often a search whose candidates are deleted meanwhile is repeated, each time for as many candidates more. */
const ATTEMPTS_MAX = 4;
/** From this round on, an answer that writes have overtaken is made in one turn, so that no further one can. */
const LAST_ROUND = 4;

/** Candidates scored before others are served: their metadata and scores take the thread a few milliseconds. */
const SCORED_AT_ONCE = 1_000;
/** The same where the metadata of each are read for boosts. */
const BOOSTED_AT_ONCE = 64;

/** The most hits that are looked for on this thread, and the most that tie with the last of them. */
const AT_ONCE_MAX = 256;

/** From this many ties on, they are cut in slices. */
const SLICED_TIES = 1_000;

const NOTHING_FOUND: SlotScores = { slots: new Uint32Array(0), scores: new Float64Array(0) };

/** The best by boosted scores, and below which of them no other has one. */
interface BoostedSlots {
  found: SlotScores;
  bound: number;
}

/**
 * Searches one shard. A search sees every write that was answered before it began. An item deleted while it runs is
 * left out; a replaced item is scored in its new version. So an old version is never answered, and an item that exists
 * all the time is never missed.
 */
export class ShardSearch {
  private readonly lists: ListParts;

  constructor(
    private readonly parts: {
      records: RecordStore;
      indexes: ShardIndexes;
      slots: SlotAllocator;
      counters: { versions: { isCounting: boolean } };
      /** Does work that nobody waits for, while the shard is open; resolves when it is over, also where it failed. */
      aside: (work: () => Promise<void>) => Promise<void>;
    },
  ) {
    this.lists = new ListParts(parts.indexes.directory, KEPT_PARTS, (work) => parts.aside(() => this.asReader(work)));
  }

  private async asReader(work: () => Promise<void>): Promise<void> {
    const { slots } = this.parts;
    const epoch = slots.beginRead();
    try {
      await work();
    } finally {
      slots.endRead(epoch);
    }
  }

  async search(request: VectorSearch): Promise<VectorSearchResult> {
    if (request.part !== undefined) return this.searchPart(request, request.part);
    if (request.boosts !== undefined) return this.boosted(request, request.boosts);
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
        const found = await indexes.vectors.search(request.vector, {
          k: wanted,
          effort: request.effort,
          allowed,
          counted: request.counted,
        });
        counter?.searched(found);
        const cut = this.cut(found, wanted);
        const { scored, border } = cut instanceof Promise ? await cut : cut;
        // Items that the index did not return score at most as high as its last answer. Below that score, other items
        // may be better than these hits. Of those that tie with it, some may be left out here, behind the border.
        const isWhole =
          attempt === ATTEMPTS_MAX ||
          (border === null && (found.slots.length < wanted || found.slots.length >= candidateCount));
        const reaches = ({ hit }: FoundHit): boolean =>
          border === null ? hit.score >= found.scores[found.scores.length - 1] : compareHits(hit, border) <= 0;
        const isSure = (hits: FoundHit[], goneCount: number): boolean =>
          isWhole || goneCount === 0 || (hits.length === request.k && reaches(hits[request.k - 1]));
        const { hits, goneCount } = await this.upToDate(scored, request, { epoch, isSure, counter });
        if (hits !== null)
          return { hits: hits.map(({ hit }) => hit), vectorCount: indexes.directory.liveCount, ...counter?.counts };
        wanted = request.k + 2 * goneCount;
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  /** Of items that are as they were: they are not looked for again where they have changed. */
  private async searchPart(request: VectorSearch, part: ListPart): Promise<VectorSearchResult> {
    const { indexes, slots } = this.parts;
    const { vector, k, filter, effort, counted } = request;
    const counter = counted === true ? new SearchCounter() : null;
    if (filter !== null) await indexes.filters.prepare(filter);
    const boosts = request.boosts === undefined ? null : await ShardBoosts.prepared(indexes, request.boosts);
    const read = async (depth: number, counting: SearchCounter | null): Promise<DeepList> => {
      const allowed = this.allowed(filter);
      const candidateCount = allowed === null ? indexes.directory.liveCount : allowed.size;
      counting?.filtered(candidateCount);
      if (candidateCount === 0) return { found: NOTHING_FOUND, isWhole: true };
      const found = await indexes.vectors.search(vector, { k: depth, effort, allowed, ...(counting && { counted }) });
      counting?.searched(found);
      return { found, isWhole: found.slots.length < depth };
    };
    const plain: ListSearch = { known: (depth) => read(depth, counter), ahead: (depth) => read(depth, null) };
    const search = boosts === null ? plain : boostedParts(indexes, request, part, { boosts, counter });
    const epoch = slots.beginRead();
    try {
      for (let round = 1; ; round++) {
        const found = await this.lists.next(() => vectorListName(request), part, k, search);
        const { boostDepth } = found;
        const hits = await this.made(found.hits, request, round);
        if (hits === null || !hits.every(({ slot }) => indexes.directory.isLive(slot))) continue;
        counter?.made();
        if (request.texts) await this.addTexts(hits, request.bytesMax ?? Infinity);
        counter?.readTexts();
        return {
          hits: hits.map(({ hit }) => hit),
          vectorCount: indexes.directory.liveCount,
          ...counter?.counts,
          ...(boostDepth !== undefined && { boostDepth }),
        };
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  private async boosted(request: VectorSearch, given: Boosts): Promise<VectorSearchResult> {
    const { indexes, slots } = this.parts;
    const counter = request.counted === true ? new SearchCounter() : null;
    if (request.filter !== null) {
      await indexes.filters.prepare(request.filter);
      counter?.filtered(indexes.directory.liveCount);
    }
    let boosts: ShardBoosts | null = null;
    const epoch = slots.beginRead();
    try {
      let wanted = request.k;
      for (let attempt = 1; ; attempt++) {
        let list: BoostedSlots | null = attempt === 1 ? this.boostedNow(request, given, counter) : null;
        let boostDepth: number | undefined;
        if (list === null) {
          boosts ??= await ShardBoosts.prepared(indexes, given);
          const read = boostedList(boosts, wanted, true);
          boostDepth = await readBoosted(indexes, request, { list: read, boosts, counter });
          list = { found: await inSlices(read.found()), bound: read.bound };
        }
        const { found, bound } = list;
        const cutting = this.cut(found, wanted);
        const { scored, border } = cutting instanceof Promise ? await cutting : cutting;
        const reaches = ({ hit }: FoundHit): boolean =>
          border === null ? hit.score >= bound : compareHits(hit, border) <= 0;
        const isSure = (hits: FoundHit[], goneCount: number): boolean =>
          attempt === ATTEMPTS_MAX ||
          goneCount === 0 ||
          bound === -Infinity ||
          (hits.length === request.k && reaches(hits[request.k - 1]));
        const { hits, goneCount } = await this.upToDate(scored, request, { epoch, isSure, counter });
        if (hits !== null)
          return {
            hits: hits.map(({ hit }) => hit),
            vectorCount: indexes.directory.liveCount,
            ...counter?.counts,
            ...(boostDepth !== undefined && { boostDepth }),
          };
        wanted = request.k + 2 * goneCount;
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  /** The same by one search on this thread, of less than a millisecond; null: it would take more. */
  private boostedNow(request: VectorSearch, given: Boosts, counter: SearchCounter | null): BoostedSlots | null {
    const { directory, filters, vectors } = this.parts.indexes;
    const { k, filter, effort } = request;
    if (effort.type === 'exact' || k > AT_ONCE_MAX || (filter !== null && !isTold(filter))) return null;
    const number = vectors.share();
    if (number === null) return null;
    const boosts = InlineBoosts.of({ vectors: number, filters: filters.share(), directory }, given);
    const found = boosts?.best(request, counter) ?? null;
    if (found === null || found.count > k + AT_ONCE_MAX) return null;
    const [all, scores] = [Uint32Array.from(found.slots), Float64Array.from(found.scores)];
    return { found: { slots: all, scores }, bound: found.count < k ? -Infinity : scores[found.count - 1] };
  }

  async score(request: RequestOf<'score'>): Promise<Hit[]> {
    const { bytesMax = Infinity, boosts } = request;
    if (boosts !== undefined)
      for (const filter of filtersOfBoosts(boosts)) await this.parts.indexes.filters.prepare(filter);
    const hits: Hit[] = [];
    let bytes = 0;
    const atOnce = boosts === undefined ? SCORED_AT_ONCE : BOOSTED_AT_ONCE;
    for (let from = 0; from < request.externalIds.length; from += atOnce) {
      const turn = boosts === undefined ? undefined : ownTurn();
      if (turn !== undefined) await turn;
      for (const hit of await this.scoreOf(
        request.vector,
        request.externalIds.slice(from, from + atOnce),
        bytesMax - bytes,
        boosts,
      )) {
        bytes += hit.externalId.length + hit.metadata.length;
        hits.push(hit);
      }
    }
    return hits;
  }

  /** Of those that exist at the call, as they are then; metadata are left out from `bytesMax` of them on. */
  private async scoreOf(
    vector: Float32Array,
    externalIds: string[],
    bytesMax: number,
    boosts: Boosts | undefined,
  ): Promise<Hit[]> {
    const { indexes } = this.parts;
    const { directory, vectors } = indexes;
    const known = externalIds
      .map((externalId) => ({ externalId, slot: directory.slotOf(externalId) }))
      .filter(({ slot }) => slot >= 0);
    let bytes = 0;
    const metadata = known.map(({ slot }) => {
      if (bytes >= bytesMax) return LEFT_OUT;
      const text = directory.metadataOf(slot);
      bytes += text.length;
      return text;
    });
    const ofKnown = Uint32Array.from(known, ({ slot }) => slot);
    const boosted = boosts === undefined ? null : boostedScores(indexes, boosts, ofKnown);
    const plain = await vectors.score(vector, ofKnown);
    const scores = boosted === null ? plain : boosted(plain);
    return known.map(({ externalId }, i) => ({ externalId, score: scores[i], metadata: metadata[i] }));
  }

  async keywordSearch(request: KeywordSearch): Promise<Hit[]> {
    const { indexes, slots } = this.parts;
    const { keywords, directory, filters } = indexes;
    if (request.filter !== null) await filters.prepare(request.filter);
    const units = request.plan?.units ?? [];
    for (const { filter, meanings = [] } of units) {
      if (filter !== undefined) await filters.prepare(filter);
      for (const meaning of meanings) if (meaning.filter !== undefined) await filters.prepare(meaning.filter);
    }
    const boosts = request.boosts === undefined ? null : await ShardBoosts.prepared(indexes, request.boosts);
    if (request.fieldWeights !== undefined || units.some(({ more }) => more !== undefined)) keepTerms(keywords);
    // Many short texts have equal scores, so ids decide which of them are the best k.
    const nameOf = (slot: number): string => (directory.isLive(slot) ? directory.externalIdOf(slot) : '');
    const stepsOf = (k: number, within?: SlotSet): Generator<undefined, SlotScores> => {
      const { fieldWeights, filter } = request;
      const all = within === undefined ? undefined : (): SlotSet => this.allowedOf(within, filter);
      const options = {
        k,
        allowed: all ?? (() => this.allowed(filter)),
        nameOf: boosts === null ? nameOf : null,
        fieldWeights,
      };
      return request.plan === undefined
        ? keywords.searchInSteps(request.terms, request.statistics, options)
        : keywords.searchPlanInSteps(request.terms, request.plan, request.statistics, {
            ...options,
            unitSlots: (unit) => this.allowed(units[unit].filter ?? null),
            meaningSlots: (unit, meaning) => this.allowed(units[unit].meanings![meaning].filter ?? null),
          });
    };
    // A slot that is emptied between two slices stays empty until the read ends.
    const search = (k: number, round: number): SlotScores | Promise<SlotScores> => {
      const steps = stepsOf(k);
      return round < LAST_ROUND ? inSlices(steps) : resultOf(steps);
    };
    const { part, k } = request;
    const epoch = slots.beginRead();
    try {
      const boosted = boosts === null ? null : { boosts, listOf: stepsOf };
      if (boosted !== null && part === undefined) {
        const hits = await boostedKeywords({
          ...boosted,
          k,
          items: directory,
          moved: () => slots.movedSince(epoch),
          made: (scored, round) => this.made(scored, request, round),
          attemptsMax: ATTEMPTS_MAX,
          lastRound: LAST_ROUND,
        });
        return hits.map(({ hit }) => hit);
      }
      for (let round = 1; ; round++) {
        const found =
          part === undefined
            ? search(k, round)
            : await this.keywordPart(
                request,
                part,
                boosted === null ? search : (depth) => firstBoosted(boosted, depth),
                round,
              );
        const hits = await this.made(pairsOf(found instanceof Promise ? await found : found), request, round);
        if (hits !== null) return hits.map(({ hit }) => hit);
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  private async keywordPart(
    request: KeywordSearch,
    part: ListPart,
    search: (depth: number, round: number) => SlotScores | Promise<SlotScores>,
    round: number,
  ): Promise<SlotScores> {
    const read = async (depth: number, of: number): Promise<DeepList> => {
      const found = await search(depth, of);
      return { found, isWhole: found.slots.length < depth };
    };
    const { hits } = await this.lists.next(() => keywordListName(request), part, request.k, {
      known: (depth) => read(depth, round),
      // Nobody waits for it, so it is never made in one turn.
      ahead: (depth) => read(depth, 1),
    });
    return {
      slots: Uint32Array.from(hits, ({ slot }) => slot),
      scores: Float64Array.from(hits, ({ score }) => score),
    };
  }

  private allowed(filter: Filter | null): SlotSet | null {
    return filter === null ? null : this.parts.indexes.filters.resolve(filter);
  }

  /** Those of a few slots that pass. */
  private allowedOf(slots: SlotSet, filter: Filter | null): SlotSet {
    const allowed = this.allowed(filter);
    if (allowed === null) return slots;
    return ChunkedSlotSet.fromSorted(slots.toArray().filter((slot) => allowed.has(slot)));
  }

  /**
   * The hits for the slots found, with their texts where these are asked for; null where they are not `isSure`. Items
   * that were replaced since `epoch` appear in their new version if that passes the filter; items that are gone are
   * left out. `goneCount`: how many of the slots found were out of date.
   */
  private async upToDate(
    found: ScoredSlot[],
    request: VectorSearch,
    {
      epoch,
      isSure,
      counter,
    }: { epoch: number; isSure: (hits: FoundHit[], goneCount: number) => boolean; counter: SearchCounter | null },
  ): Promise<{ hits: FoundHit[] | null; goneCount: number }> {
    const { indexes, slots } = this.parts;
    const isLive = (slot: number): boolean => indexes.directory.isLive(slot);
    let scored = found;
    let goneCount = 0;
    // Many searches may be found in one round of the event loop, and hits may be large.
    const turn = ownTurn();
    if (turn !== undefined) await turn;
    // The index misses an item if its old version was removed before its row was reached and its new one was not there
    // yet.
    let moved = slots.movedSince(epoch);
    for (let round = 1; ; round++) {
      const gone = scored.filter(({ slot }) => !isLive(slot));
      if (gone.length === 0 && moved.length === 0) {
        const made = this.made(scored, request, round);
        const hits = made instanceof Promise ? await made : made;
        // Behind the last step there may have been a write before this.
        if (hits === null || (made instanceof Promise && !hits.every(({ slot }) => isLive(slot)))) continue;
        counter?.made();
        if (!isSure(hits, goneCount)) return { hits: null, goneCount };
        if (request.texts) await this.addTexts(hits, request.bytesMax ?? Infinity);
        counter?.readTexts();
        return { hits, goneCount };
      }
      goneCount += gone.length;
      const kept = scored.filter(({ slot }) => isLive(slot));
      const keptSlots = new Set(kept.map(({ slot }) => slot));
      const allowed = this.allowed(request.filter);
      const successors = [...moved, ...gone.map(({ slot }) => slots.successorOf(slot))];
      moved = [];
      // The index may have found the new version already.
      const added = [...new Set(successors)].filter(
        (slot) => slot >= 0 && isLive(slot) && !keptSlots.has(slot) && (allowed === null || allowed.has(slot)),
      );
      const ofAdded = Uint32Array.from(added);
      const boosted = request.boosts === undefined ? null : boostedScores(indexes, request.boosts, ofAdded);
      const plain =
        round < LAST_ROUND
          ? await indexes.vectors.score(request.vector, ofAdded)
          : indexes.vectors.scoreNow(request.vector, ofAdded);
      const scores = boosted === null ? plain : boosted(plain);
      scored = [...kept, ...added.map((slot, i) => ({ slot, score: scores[i] }))].sort((a, b) => b.score - a.score);
    }
  }

  /** See cutTies: in slices if there are many. */
  private cut(found: SlotScores, k: number): CutHits | Promise<CutHits> {
    const steps = cutTies(this.parts.indexes.directory, found, k);
    return found.slots.length < k + SLICED_TIES ? resultOf(steps) : inLaterSlices(steps);
  }

  /** See orderedHits: in slices if there are many or large ones, until the last round. */
  private made(
    scored: ScoredSlot[],
    { k, bytesMax, versions }: Pick<VectorSearch, 'k' | 'bytesMax' | 'versions'>,
    round: number,
  ): FoundHit[] | null | Promise<FoundHit[] | null> {
    const { indexes, counters } = this.parts;
    const { directory } = indexes;
    const hasVersions = versions === true && counters.versions.isCounting;
    const versionOf = hasVersions ? (slot: number): number => directory.versionOf(slot) : undefined;
    const steps = orderedHits(directory, scored, k, bytesMax, versionOf);
    if (round >= LAST_ROUND) return resultOf(steps);
    const first = steps.next();
    return first.done === true ? first.value : inLaterSlices(steps);
  }

  /**
   * The texts of the hits that have their metadata, until there are `bytesMax` of both: what is behind is left out. To
   * be called in the turn in which the items were live.
   */
  private async addTexts(hits: FoundHit[], bytesMax: number): Promise<void> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    for (const { hit } of hits) hit.text = '';
    const steps = new ReadSteps(bytesMax);
    const recnos = new Map(
      hits
        .filter(({ slot, hit }) => hit.metadata !== LEFT_OUT && directory.hasText(slot))
        .map((found) => [found, directory.recnoOf(found.slot)]),
    );
    const first = steps.next();
    // What several reads find is of one state.
    const ofNow = first < hits.length ? records.textsOfNow() : null;
    try {
      for (let from = 0; from < hits.length;) {
        const turn = from === 0 ? undefined : ownTurn();
        if (turn !== undefined) await turn;
        const some = hits.slice(from, from + (from === 0 ? first : steps.next()));
        from += some.length;
        const withText = some.filter((found) => recnos.has(found));
        if (withText.length > 0) {
          const read = await (ofNow ?? records).readTexts(withText.map((found) => recnos.get(found) as number));
          withText.forEach(({ hit }, i) => (hit.text = read[i] ?? ''));
        }
        for (const { hit } of some) {
          if (steps.isFull) leaveOut(hit);
          else steps.add(hit.externalId.length + hit.metadata.length + hit.text!.length);
        }
        if (!steps.isFull) continue;
        for (const { hit } of hits.slice(from)) leaveOut(hit);
        break;
      }
    } finally {
      ofNow?.free();
    }
  }
}

function pairsOf(found: SlotScores): ScoredSlot[] {
  return Array.from(found.slots, (slot, i) => ({ slot, score: found.scores[i] }));
}

function leaveOut(hit: Hit): void {
  hit.metadata = LEFT_OUT;
  delete hit.version;
  hit.text = '';
}
