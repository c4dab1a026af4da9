import { inSlices } from '../../../../shared/base/time/work-slices';
import type { Filter } from '../../../../shared/contract/filter/filter';
import {
  type Boost,
  boostedScore,
  type Boosts,
  type FieldBoost,
  filtersOfBoosts,
  boostNumber,
  numberOfFilter,
  together,
} from '../../../../shared/contract/shard/boosts';
import type { RequestOf } from '../../../../shared/contract/shard/shard-read';
import { boostValue } from '../../filter/boost-values';
import type { ListedOrder, OrderStart } from '../../filter/listed-order';
import type { SlotScores } from '../../slots/slot-scores';
import type { SlotSet } from '../../slots/slot-set';
import { parsedMetadata, type ShardIndexes } from '../shard-indexes';
import { mostOf, type NumberRange, reaching } from './boost-levels';
import type { NumberedSlots } from './boosted-list';

/** Items of a value that are listed where one is looked for; of more there is a bitmap. */
const LISTED_MAX = 64;
/** Items that are read before others are served: a part of a millisecond, and some where their metadata are long. */
const IDS_PER_STEP = 32;

type BoostedIndexes = Pick<ShardIndexes, 'directory' | 'filters'>;

/** The boosts of a search in one shard. */
export class ShardBoosts {
  private constructor(
    private readonly indexes: BoostedIndexes,
    private readonly boosts: Boosts,
    /** The greatest number of each. */
    private readonly mostOfEach: readonly number[],
  ) {}

  /** Prepares what the numbers of items are made of. */
  static async prepared(indexes: BoostedIndexes, boosts: Boosts): Promise<ShardBoosts> {
    for (const filter of filtersOfBoosts(boosts)) await indexes.filters.prepare(filter);
    indexes.filters.prepareBoosts(boosts);
    const fields = boosts.parts.filter((boost) => boost.type === 'field');
    const ranges = new Map<string, NumberRange | undefined>();
    for (const { path } of fields) if (!ranges.has(path)) ranges.set(path, await rangeOf(indexes, path));
    const rangeFor = ({ path }: FieldBoost): NumberRange | undefined => ranges.get(path);
    return new ShardBoosts(
      indexes,
      boosts,
      boosts.parts.map((boost) => mostOf(boosts.mode, boost, boost.type === 'field' ? rangeFor(boost) : null)),
    );
  }

  /** The greatest number of all together; Infinity: unknown. */
  get most(): number {
    return together(this.boosts.mode, this.mostOfEach);
  }

  /** See {@link reaching}. */
  reaching(least: number): Filter | null {
    return reaching(this.boosts, this.mostOfEach, least);
  }

  get mode(): Boosts['mode'] {
    return this.boosts.mode;
  }

  /** Those of the slots that are live, in their order. In steps; a slot may have been emptied since its own. */
  *numbered({ slots, scores }: Pick<SlotScores, 'slots' | 'scores'>): Generator<undefined, NumberedSlots> {
    const { directory } = this.indexes;
    const { mode } = this.boosts;
    // No other item comes into one of the slots while a search has them: each filter may be asked in a step of its own.
    const numbers = boostNumbersBy(this.indexes, this.boosts, yield* this.passing());
    const found = {
      slots: new Uint32Array(slots.length),
      scores: new Float64Array(slots.length),
      numbers: new Float64Array(slots.length),
    };
    let count = 0;
    for (const [i, slot] of slots.entries()) {
      if (!directory.isLive(slot)) continue;
      found.slots[count] = slot;
      found.scores[count] = scores[i];
      found.numbers[count++] = together(mode, numbers(slot));
      yield;
    }
    return {
      slots: found.slots.subarray(0, count),
      scores: found.scores.subarray(0, count),
      numbers: found.numbers.subarray(0, count),
    };
  }

  private *passing(): Generator<undefined, PassingSlots> {
    const passing: PassingSlots = [];
    for (const boost of this.boosts.parts) {
      passing.push(passingNow(this.indexes, boost));
      if (boost.type === 'filter') yield;
    }
    return passing;
  }
}

/** What the boosts make of the scores of slots that are live in this turn. */
export function boostedScores(
  indexes: BoostedIndexes,
  boosts: Boosts,
  slots: Uint32Array,
): (scores: Float64Array) => Float64Array {
  const numbers = boostNumbersAt(indexes, boosts);
  const { mode } = boosts;
  const all = Array.from(slots, (slot) => together(mode, numbers(slot)));
  return (scores) => scores.map((score, i) => boostedScore(mode, score, all[i]));
}

/** The numbers of items, in the order of their ids; null where there is none. */
export async function boostNumbersOf(
  indexes: BoostedIndexes,
  { externalIds, boosts }: RequestOf<'boostNumbers'>,
): Promise<(number[] | null)[]> {
  for (const filter of filtersOfBoosts(boosts)) await indexes.filters.prepare(filter);
  return inSlices(idSteps(indexes, externalIds, boosts));
}

function* idSteps(
  indexes: BoostedIndexes,
  externalIds: readonly string[],
  boosts: Boosts,
): Generator<undefined, (number[] | null)[]> {
  const found: (number[] | null)[] = [];
  let numbers = boostNumbersAt(indexes, boosts);
  for (const [i, externalId] of externalIds.entries()) {
    // Slots may have got other items where others were served since.
    if (i % IDS_PER_STEP === IDS_PER_STEP - 1) {
      yield;
      numbers = boostNumbersAt(indexes, boosts);
    }
    const slot = indexes.directory.slotOf(externalId);
    found.push(slot < 0 ? null : numbers(slot));
  }
  return found;
}

/** The number that each boost makes of the item of a live slot, in this turn. */
export function boostNumbersAt(indexes: BoostedIndexes, boosts: Boosts): (slot: number) => number[] {
  return boostNumbersBy(
    indexes,
    boosts,
    boosts.parts.map((boost) => passingNow(indexes, boost)),
  );
}

/** What passes the filter of each boost; null of one that has none. */
type PassingSlots = (SlotSet | null)[];

function passingNow({ filters }: BoostedIndexes, boost: Boost): SlotSet | null {
  return boost.type === 'filter' ? filters.resolve(boost.filter) : null;
}

function boostNumbersBy(
  { directory }: BoostedIndexes,
  { mode, parts }: Boosts,
  passing: PassingSlots,
): (slot: number) => number[] {
  const isParsed = parts.some(({ type }) => type !== 'filter');
  return (slot) => {
    const metadata = isParsed ? parsedMetadata(directory.metadataOf(slot)) : {};
    return parts.map((boost, i) =>
      boost.type === 'filter'
        ? numberOfFilter(mode, boost, passing[i]!.has(slot))
        : boostNumber(mode, boost, boostValue(boost, metadata)),
    );
  };
}

/** What the numbers under a path lie between; undefined: that is unknown, for items that are in no list. */
async function rangeOf({ filters }: BoostedIndexes, path: string): Promise<NumberRange | undefined> {
  if (filters.unlistedSlots.size > 0) return undefined;
  return inSlices(rangeSteps(filters.order, path));
}

function* rangeSteps(order: ListedOrder, path: string): Generator<undefined, NumberRange> {
  yield* order.prepare(path);
  const most = yield* firstNumber(order, path, true);
  const least = yield* firstNumber(order, path, false);
  return most === null || least === null ? null : { least, most };
}

/** The greatest number under a path, or the least; null: there is none. */
function* firstNumber(order: ListedOrder, path: string, descending: boolean): Generator<undefined, number | null> {
  const wanted = { descending, slots: 1, listedMax: LISTED_MAX };
  let from: OrderStart = { value: descending ? Number.MAX_VALUE : -Number.MAX_VALUE, included: true };
  for (;;) {
    const { values, last, more } = order.some(path, { ...wanted, from }, null);
    if (values.length > 0) return typeof values[0] === 'number' ? values[0] : null;
    if (!more || typeof last !== 'number') return null;
    // Values that no item has any more.
    from = { value: last, included: false };
    yield;
  }
}
