import { createHash } from 'node:crypto';
import { filterToText } from '../../../../shared/contract/filter/filter-text';
import {
  compareHits,
  type HitPlace,
  type KeywordSearch,
  type ListPart,
  scoreRounding,
  type VectorSearch,
} from '../../../../shared/contract/shard/shard-read';
import { inLaterSlices, inSlices } from '../../../../shared/base/time/work-slices';
import type { SlotScores } from '../../slots/slot-scores';
import { boostsToText } from '../../../../shared/contract/shard/boosts';
import { cutTiedSlots } from './border-ties';
import { type FoundPart, KEPT_PARTS, type KeptParts } from './kept-parts';
import type { ScoredSlot } from './ordered-hits';
import { firstWhere, sortedInSteps } from './sorted-in-steps';

/** Hits behind a page that are found together with it, as a multiple of it: the pages that follow need not search. */
const AHEAD_PAGES = 4;
/** At most: each of them takes twelve bytes. */
const AHEAD_MAX = 1 << 20;
/** Lists of a process that are read ahead of their pages at once. */
const AHEAD_AT_ONCE = 2;
/** Deeper lists are read by those who wait for them alone: nothing else bounds what is read for nobody. */
const AHEAD_DEPTH_MAX = 1 << 18;
/** Slots that are looked at before others are served. */
const SLOTS_PER_STEP = 4_096;
/** The items of a list by their slots: a directory. */
export interface VersionedSlots {
  /** How many items there are. */
  readonly liveCount: number;
  isLive(slot: number): boolean;
  externalIdOf(slot: number): string;
  versionOf(slot: number): number;
}

/** The first hits of a list, by descending score. */
export interface DeepList {
  /** All that tie with the last are there, or those of them with the first ids. */
  found: SlotScores;
  /** Whether there are no more. */
  isWhole: boolean;
  /** Whether no more of it can be known: it has fewer hits than were asked for, and there are others. */
  isShort?: boolean;
  /** Of a list that ends before all items were reached: how many it was made of. */
  boostDepth?: number;
}

/** How a list is found. */
export interface ListSearch {
  /** To some depth; null: it can't be known so far. */
  known: (depth: number) => Promise<DeepList | null>;
  /** What there is in its place then, whole: the same for all parts. Default: all of it can be known. */
  bounded?: () => Promise<DeepList>;
  /** As `known`, for pages that nobody asks for yet: in steps and uncounted. Default: nothing is read for them. */
  ahead?: (depth: number) => Promise<DeepList>;
}

/** The best of a part. */
export interface PartHits {
  hits: ScoredSlot[];
  /** As of {@link DeepList}. */
  boostDepth?: number | undefined;
}

/**
 * Reads ranked lists in parts, whose items are those that have not changed since some version. A part behind others is
 * found by searching deeper, and what lies behind it is kept for the parts that follow. Each search is for twice as
 * many hits as were passed, so to read a list to its end costs a few searches as deep as it is long; where pages have
 * come to the second half of what is kept, the next one begins beside them.
 */
export class ListParts {
  /** Reads of what comes behind pages that were answered, by the names of their lists. */
  private readonly reading = new Map<string, { after: HitPlace | null; done: Promise<void> }>();
  /** Lists of several shards have the same names. */
  private readonly owner = `${(lastOwner += 1)} `;

  constructor(
    private readonly items: VersionedSlots,
    private readonly kept: KeptParts = KEPT_PARTS,
    /** Does some work beside what is asked for; resolves when it is over, or is not to be done. */
    private readonly aside: ((work: () => Promise<void>) => Promise<void>) | null = null,
  ) {}

  /**
   * The best `k` of a part of the list that `listName` names; fewer only if there are no more. They were live a moment
   * ago.
   */
  async next(listName: () => string, part: ListPart, k: number, search: ListSearch): Promise<PartHits> {
    const { after } = part;
    const name = after === null && search.bounded === undefined ? '' : this.owner + listName();
    const kept = name === '' ? null : await this.keptHits(name, part, k, search);
    if (kept !== null) return kept;
    const { before, ahead } = this.depthOf(part, k);
    const unknownFrom = this.kept.get(name)?.unknownFrom ?? Infinity;
    const isKnown = before + k + ahead < unknownFrom;
    let least = isKnown && ahead > 0 ? before + k : null;
    for (let depth = before + k + (isKnown ? ahead : 0); ; depth *= 2) {
      const found = await this.lookFor(part, { k, depth, least }, search);
      if (!isKnown) found.unknownFrom ??= unknownFrom;
      least = null;
      if (found.slots.length < k && !found.isEnd) continue;
      if (after !== null || found.boostDepth !== undefined) this.kept.put(name, found);
      // What has gone meanwhile may be missing at the end.
      const taken = this.takenFrom(found, part, k);
      if (taken !== null) return { hits: taken.hits, boostDepth: found.boostDepth };
    }
  }

  /** Of what is kept, or is read just now; null: that does not reach so far. */
  private async keptHits(name: string, part: ListPart, k: number, search: ListSearch): Promise<PartHits | null> {
    for (;;) {
      const kept = this.kept.get(name);
      const taken = kept === undefined ? null : this.takenFrom(kept, part, k);
      if (taken !== null) {
        if (!kept!.isEnd && 2 * taken.end > kept!.slots.length) this.readAhead(name, part, kept!, { k, search });
        return { hits: taken.hits, boostDepth: kept!.boostDepth };
      }
      const reading = this.reading.get(name);
      // What is read for another chain may begin behind this page.
      if (reading === undefined || !isFrom(reading.after, part.after)) return null;
      await reading.done;
    }
  }

  /** Reads on for the pages that follow: from where this one begins, because it may come again. */
  private readAhead(
    name: string,
    part: ListPart,
    kept: FoundPart,
    { k, search }: { k: number; search: ListSearch },
  ): void {
    const { reading, aside } = this;
    const { ahead: read } = search;
    if (aside === null || read === undefined || readingAhead === AHEAD_AT_ONCE || reading.has(name)) return;
    const { before, ahead } = this.depthOf(part, k);
    // More may come before than is said.
    const depth = before + k + ahead > kept.reach ? before + k + ahead : 2 * kept.reach;
    if (depth > AHEAD_DEPTH_MAX) return;
    readingAhead += 1;
    const done = aside(async () => {
      const found = await this.found(await read(depth), part, depth);
      const now = this.kept.get(name);
      if (isFurther(found, kept) && (now === undefined || isFurther(found, now))) this.kept.put(name, found);
    }).finally(() => {
      readingAhead -= 1;
      reading.delete(name);
    });
    reading.set(name, { after: part.after, done });
  }

  /** How many hits come before a part, and how many are found together with its first `k`. */
  private depthOf({ after, passed }: ListPart, k: number): { before: number; ahead: number } {
    // What is said of it may be any number.
    const before = Math.min(Math.ceil(passed), this.items.liveCount);
    return { before, ahead: after === null ? 0 : Math.min(AHEAD_MAX, Math.max(AHEAD_PAGES * k, before)) };
  }

  /**
   * A part of a list that is read to `depth`; or to `least`, if that is not null, where so much can't be known of it
   * that there are `k` hits.
   */
  private async lookFor(
    part: ListPart,
    { k, depth, least }: { k: number; depth: number; least: number | null },
    search: ListSearch,
  ): Promise<FoundPart> {
    const known = async (to: number): Promise<FoundPart | null> => {
      const list = await search.known(to);
      if (list === null) return null;
      const found = await this.found(list, part, to);
      return list.isShort === true && found.slots.length < k ? null : found;
    };
    const found = await known(depth);
    if (found !== null) return found;
    const nearer = least === null ? null : await known(least);
    if (nearer !== null) return { ...nearer, unknownFrom: depth };
    return this.found(await search.bounded!(), part, depth);
  }

  /** What of a list is behind the part's beginning, and is as it was. */
  private async found({ found, isWhole, boostDepth }: DeepList, part: ListPart, depth: number): Promise<FoundPart> {
    // Several that are deep may be found at once.
    const sliced = found.slots.length > SLOTS_PER_STEP ? inLaterSlices : inSlices;
    const cut = await sliced(cutTiedSlots(this.items, found, isWhole ? found.slots.length : depth));
    const rounding = scoreRounding(found.scores.at(0), found.scores.at(-1), part.after?.score);
    return {
      after: part.after,
      ...(await sliced(this.behind(cut, part, rounding))),
      isEnd: isWhole && !cut.isCut,
      rounding,
      reach: cut.slots.length,
      ...(boostDepth !== undefined && { boostDepth }),
    };
  }

  private *behind(
    { slots, scores }: SlotScores,
    { after, versionMax }: ListPart,
    rounding: number,
  ): Generator<undefined, Pick<FoundPart, 'slots' | 'scores'>> {
    const { items } = this;
    const first = after === null ? 0 : firstWhere(slots.length, (at) => scores[at] <= after.score);
    const behind = { slots: new Uint32Array(slots.length - first), scores: new Float64Array(slots.length - first) };
    let size = 0;
    for (let i = first; i < slots.length;) {
      const score = scores[i];
      const isNear = after !== null && isNearTo(after.score, score, rounding);
      if (isNear || (i + 1 < slots.length && scores[i + 1] === score)) {
        const tied: number[] = [];
        for (; i < slots.length && scores[i] === score; i += 1) {
          if (isAsItWas(items, slots[i], versionMax)) tied.push(slots[i]);
          if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
        }
        for (const slot of yield* this.inOrder(tied, score, isNear ? after : null)) {
          behind.slots[size] = slot;
          behind.scores[size++] = score;
        }
      } else {
        if (isAsItWas(items, slots[i], versionMax)) {
          behind.slots[size] = slots[i];
          behind.scores[size++] = score;
        }
        i += 1;
        if (i % SLOTS_PER_STEP === 0) yield;
      }
    }
    // Not views: what is kept is counted by what it has.
    return { slots: behind.slots.slice(0, size), scores: behind.scores.slice(0, size) };
  }

  /** Slots of one score in the order of their ids; without those that are not behind `after`. */
  private *inOrder(slots: readonly number[], score: number, after: HitPlace | null): Generator<undefined, number[]> {
    const named: { slot: number; externalId: string }[] = [];
    for (const [i, slot] of slots.entries()) {
      if (this.items.isLive(slot)) {
        const externalId = this.items.externalIdOf(slot);
        if (after === null || isBehind({ score, externalId }, after)) named.push({ slot, externalId });
      }
      if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
    }
    return (yield* sortedInSteps(named, byId)).map(({ slot }) => slot);
  }

  /** `end`: how far it was read for that. null: what there is does not reach so far. */
  private takenFrom(
    found: FoundPart,
    { after, versionMax }: ListPart,
    k: number,
  ): { hits: ScoredSlot[]; end: number } | null {
    if (!isFrom(found.after, after)) return null;
    const { items } = this;
    const { slots, scores } = found;
    const isThere = (at: number): boolean => isAsItWas(items, slots[at], versionMax);
    const hits: ScoredSlot[] = [];
    let at = this.placeOf(found, after, isThere);
    for (; at < slots.length && hits.length < k; at += 1) {
      if (!isThere(at)) continue;
      const [slot, score] = [slots[at], scores[at]];
      const isIt =
        after !== null &&
        isNearTo(after.score, score, found.rounding) &&
        !isBehind({ score, externalId: items.externalIdOf(slot) }, after);
      if (!isIt) hits.push({ slot, score });
    }
    return hits.length === k || found.isEnd ? { hits, end: at } : null;
  }

  /** The first hit that is behind `after`; it may have gone. */
  private placeOf({ slots, scores }: FoundPart, after: HitPlace | null, isThere: (at: number) => boolean): number {
    if (after === null) return 0;
    let low = firstWhere(slots.length, (at) => scores[at] <= after.score);
    let high = firstWhere(slots.length, (at) => scores[at] < after.score);
    // Those that tie with it are in the order of their ids, with gaps where items have gone.
    while (low < high) {
      const middle = (low + high) >>> 1;
      let at = middle;
      while (at < high && !isThere(at)) at += 1;
      if (at === high || this.items.externalIdOf(slots[at]) > after.externalId) high = middle;
      else low = at + 1;
    }
    return low;
  }
}

let lastOwner = 0;
let readingAhead = 0;

/** What a search by a vector is for, but for the part and what the hits carry. */
export function vectorListName({ vector, filter, effort, boosts, part }: VectorSearch): string {
  const given = [
    effort,
    filter === null ? null : filterToText(filter),
    boosts && boostsToText(boosts),
    part?.versionMax,
  ];
  return createHash('sha256')
    .update(JSON.stringify(given))
    .update(Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength))
    .digest('base64');
}

/** The same of one by keywords. */
export function keywordListName(search: KeywordSearch): string {
  const { terms, statistics, plan, fieldWeights, filter, boosts, part } = search;
  const asked = [terms, statistics, plan ?? null, fieldWeights ?? null, boosts && boostsToText(boosts)];
  return createHash('sha256')
    .update(JSON.stringify([...asked, filter === null ? null : filterToText(filter), part?.versionMax]))
    .digest('base64');
}

/** Whether the slot has an item that has not changed since the version: a slot is used again. */
export function isAsItWas(items: VersionedSlots, slot: number, versionMax: number): boolean {
  return items.isLive(slot) && items.versionOf(slot) <= versionMax;
}

/** An item is not behind itself, whatever its score is elsewhere. */
function isBehind(place: HitPlace, after: HitPlace): boolean {
  return place.externalId !== after.externalId && compareHits(place, after) > 0;
}

/** Whether what begins behind one place has all that is behind the other; null: the beginning of the list. */
function isFrom(begin: HitPlace | null, after: HitPlace | null): boolean {
  return begin === null || (after !== null && compareHits(begin, after) <= 0);
}

/** Whether it goes on behind the end of the other one. */
function isFurther(found: FoundPart, other: FoundPart): boolean {
  if (other.isEnd || found.isEnd) return !other.isEnd;
  if (found.slots.length === 0 || found.reach <= other.reach) return false;
  return other.slots.length === 0 || found.scores.at(-1)! <= other.scores.at(-1)!;
}

function isNearTo(score: number, other: number, rounding: number): boolean {
  return score === other || Math.abs(score - other) <= rounding;
}

function byId(a: { externalId: string }, b: { externalId: string }): number {
  return a.externalId < b.externalId ? -1 : 1;
}
