import { bothFilters, type Filter } from '../../../../shared/contract/filter/filter';
import { filterToText } from '../../../../shared/contract/filter/filter-text';
import {
  type Boost,
  boostedScore,
  boostNumber,
  type Boosts,
  numberOfFilter,
  together,
} from '../../../../shared/contract/shard/boosts';
import type { VectorSearch } from '../../../../shared/contract/shard/shard-read';
import { resultOf } from '../../../../shared/base/time/work-slices';
import { boostProgram, CONDITIONS_MAX } from '../../filter/boost-program';
import { boostValue } from '../../filter/boost-values';
import { isInLists } from '../../filter/filter-needs';
import { filterProgram } from '../../filter/filter-program';
import { metresBetween } from '../../filter/geo-points';
import { conditionsIn } from '../../filter/prepared-filters';
import {
  isPlace,
  searchSharedBoosted,
  type SharedIndexes,
  sharedBoostValues,
  valuesOf,
  type WrittenBoosts,
} from '../../vector/shared-boosts';
import type { FoundSlots } from '../../vector/shared-vectors';
import { parsedMetadata } from '../shard-indexes';
import { mostOf, reaching } from './boost-levels';
import { BoostedList, type NumberedSlots } from './boosted-list';
import { firstDepth } from './boosted-search';
import type { SearchCounter } from './search-counter';

/** Lists that are read; what takes more is for the shard's own thread. */
const ROUNDS_MAX = 6;
/** The longest of them. */
const DEPTH_MAX = 512;
const NO_SLOTS = new Float64Array(0);

/** Of boosts in use: requests that differ in their vectors alone have the same ones. null: they have none. */
const programs = new WeakMap<Boosts, Uint32Array | null>();

function programOf(boosts: Boosts): Uint32Array | null {
  let program = programs.get(boosts);
  if (program === undefined) programs.set(boosts, (program = boostProgram(boosts)));
  return program;
}

/** Whether lists tell soon what passes. */
export function isTold(filter: Filter): boolean {
  return conditionsIn(filter) <= CONDITIONS_MAX && isInLists(filter);
}

/** What another thread knows of a shard. */
interface BoostedShard extends SharedIndexes {
  directory: { metadataOf(slot: number): string };
}

/** The boosts of a search as any thread works them out, whichever owns the shard, in one search: see ShardBoosts. */
export class InlineBoosts {
  private readonly written: WrittenBoosts;
  /** Of one slot. */
  private readonly width: number;
  /** The numbers of the boosts of one slot. */
  private readonly numbers: number[];
  /** The greatest number of each; null until they were asked for. */
  private mostOfEach: readonly number[] | null = null;

  private constructor(
    private readonly shard: BoostedShard,
    private readonly boosts: Boosts,
    program: Uint32Array,
  ) {
    this.written = { boosts, program };
    this.width = valuesOf(boosts);
    this.numbers = new Array<number>(boosts.parts.length);
  }

  /** null: they ask for more than lists tell. */
  static of(shard: BoostedShard, boosts: Boosts): InlineBoosts | null {
    const program = programOf(boosts);
    return program === null ? null : new InlineBoosts(shard, boosts, program);
  }

  /**
   * The best `k` by boosted scores, best first, and all that tie with the last. null: what may be among them lies too
   * far apart to be found by one search.
   */
  best({ vector, k, effort, filter }: VectorSearch, counter: SearchCounter | null): FoundSlots | null {
    const { program } = this.written;
    const asked = { k, effort, filter: filter === null ? null : filterProgram(filter), program };
    const answer = searchSharedBoosted(this.shard, vector, asked);
    if (answer === null) return null;
    const { found, count, cost } = answer;
    counter?.searched(cost());
    const { mode } = this.boosts;
    const all: { slot: number; score: number }[] = [];
    for (let i = 0, at = 0; i < count; i += 1, at += 2 + this.width) {
      const slot = found[at];
      all.push({ slot, score: boostedScore(mode, found[at + 1], this.numberOf(slot, found, at + 2)) });
    }
    all.sort((a, b) => b.score - a.score);
    let end = Math.min(k, all.length);
    while (end > 0 && end < all.length && all[end].score === all[end - 1].score) end += 1;
    all.length = end;
    return { slots: all.map(({ slot }) => slot), scores: all.map(({ score }) => score), count: end };
  }

  /**
   * The same of lists that are read one after the other, as readBoosted does it. null: the shard's own thread has to
   * look for them. `search`: one list; null for the same.
   */
  read(
    { k, filter }: VectorSearch,
    search: (k: number, filter: Filter | null) => FoundSlots | null,
    counter: SearchCounter | null,
  ): FoundSlots | null {
    const most = this.most();
    if (most === null) return null;
    const list = new BoostedList(k, { mode: this.boosts.mode, most, depth: firstDepth(k), isTied: true });
    let within = filter;
    for (let round = 1; round <= ROUNDS_MAX && list.depth <= DEPTH_MAX; round += 1) {
      const found = search(list.depth, within);
      const numbered = found === null ? null : this.numbered(found);
      if (found === null || numbered === null) return null;
      counter?.searched(found);
      const last = found.count < list.depth ? null : numbered.scores[found.count - 1];
      if (resultOf(list.take({ found: numbered, last }))) {
        const { slots, scores } = resultOf(list.found());
        return { slots, scores, count: slots.length };
      }
      const narrower = reaching(this.boosts, this.mostOfEach!, list.least);
      const next = narrower === null ? within : bothFilters(filter, narrower);
      // The beginning of what is narrower is read before more of it.
      const isFirst = within === filter && !isSame(within, next);
      within = next;
      if (!isFirst) list.deepen();
    }
    return null;
  }

  /** The greatest number of all together; null: it is not prepared. */
  private most(): number | null {
    const { mode, parts } = this.boosts;
    const ranges = sharedBoostValues(this.shard, this.written, NO_SLOTS, 0);
    if (ranges === null) return null;
    this.mostOfEach = parts.map((boost, i) => mostOf(mode, boost, rangeOf(ranges[2 * i], ranges[2 * i + 1])));
    return together(mode, this.mostOfEach);
  }

  private numbered({ slots, scores, count }: FoundSlots): NumberedSlots | null {
    const asked = Float64Array.from(slots).subarray(0, count);
    const values = sharedBoostValues(this.shard, this.written, asked, count);
    if (values === null) return null;
    const first = 2 * this.boosts.parts.length;
    return {
      slots: Uint32Array.from(asked),
      scores: Float64Array.from(scores).subarray(0, count),
      numbers: Float64Array.from(asked, (slot, i) => this.numberOf(slot, values, first + i * this.width)),
    };
  }

  /** The number of all boosts together, of a slot whose values are there. */
  private numberOf(slot: number, values: Float64Array, first: number): number {
    const { mode, parts } = this.boosts;
    const { numbers } = this;
    let at = first;
    for (let part = 0; part < parts.length; part += 1) {
      const boost = parts[part];
      numbers[part] = this.numberOfPart(boost, slot, values[at], values[at + 1]);
      at += boost.type === 'decay' && isPlace(boost.origin) ? 2 : 1;
    }
    return together(mode, numbers);
  }

  /** `other`: of a place its longitude. */
  private numberOfPart(boost: Boost, slot: number, value: number, other: number): number {
    const { mode } = this.boosts;
    if (boost.type === 'filter') return numberOfFilter(mode, boost, value === 1);
    if (value === Infinity)
      return boostNumber(mode, boost, boostValue(boost, parsedMetadata(this.shard.directory.metadataOf(slot))));
    if (Number.isNaN(value)) return boostNumber(mode, boost, null);
    if (boost.type === 'field') return boostNumber(mode, boost, value);
    const { origin } = boost;
    if (isPlace(origin)) return boostNumber(mode, boost, metresBetween(origin, { lat: value, lon: other }));
    return boostNumber(mode, boost, Math.abs(value - (typeof origin === 'number' ? origin : origin.time)));
  }
}

function rangeOf(least: number, most: number): { least: number; most: number } | null {
  return least <= most ? { least, most } : null;
}

function isSame(one: Filter | null, other: Filter | null): boolean {
  if (one === null || other === null) return one === other;
  return filterToText(one) === filterToText(other);
}
