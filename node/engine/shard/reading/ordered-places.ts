import { inSlices } from '../../../../shared/base/time/work-slices';
import type { Scalar } from '../../../../shared/contract/filter/filter';
import {
  comparePlaces,
  type OrderAnswer,
  type OrderPlace,
  type OrderRequest,
  orderValuesOf,
  PLACES_BYTES_MAX,
} from '../../../../shared/contract/shard/item-order';
import type { SlotAllocator } from '../../directory/slot-allocator';
import { popcount } from '../../slots/slot-chunk';
import type { SlotSet } from '../../slots/slot-set';
import type { ShardIndexes } from '../shard-indexes';
import { FirstPlaces } from './first-places';

/**
 * `read`: so few items are all read, if they are few of the shard's: a walk through the values would look at many that
 * none of them has.
 * `compared`: the ids of so few items with the same values are all compared; of more, those behind a place are looked
 * up in an order of all ids, which takes four bytes an item.
 */
const BOUNDS = { read: 2_048, compared: 8_192 };
/** To read an item takes as long as to pass over so many values; a shard has about as many as items. */
const VALUES_PER_ITEM = 32;
/** So many are always read. */
const READ_MIN = 64;
/** Of so many slots at a time, ids alone are compared: some ten microseconds. */
const IDS_AT_ONCE = 128;

type OrderedIndexes = Pick<ShardIndexes, 'directory' | 'filters'>;
/** Where items have moved that are written meanwhile. */
type MovedSlots = Pick<SlotAllocator, 'beginRead' | 'endRead' | 'movedSince'>;

/** Some items; null: all of the lists. */
interface SlotBits {
  bitmap: Uint32Array | null;
  size: number;
}

/**
 * The first items in an order, behind a place: a walk through the values of the first key from there on, in the lists
 * of the filter index, and where many items share one, through those of the next key among these. What it costs does
 * not depend on how far behind the place is. What is found is read from the metadata of the items, because one with
 * several values is at one of them alone. An item that is there all the time is never missed, also where it is written
 * meanwhile.
 */
export async function orderedPlaces(
  { indexes, slots }: { indexes: OrderedIndexes; slots: MovedSlots },
  request: OrderRequest,
  bounds = BOUNDS,
): Promise<OrderAnswer> {
  if (request.filter !== null) await indexes.filters.prepare(request.filter);
  const epoch = slots.beginRead();
  try {
    const moved = (): number[] => slots.movedSince(epoch);
    return await inSlices(new PlaceWalk(indexes, request, moved, bounds).answer());
  } finally {
    slots.endRead(epoch);
  }
}

class PlaceWalk {
  private readonly places: OrderPlace[] = [];

  constructor(
    private readonly indexes: OrderedIndexes,
    private readonly request: OrderRequest,
    private readonly moved: () => number[],
    private readonly bounds: typeof BOUNDS,
  ) {}

  *answer(): Generator<undefined, OrderAnswer> {
    const { filters, directory } = this.indexes;
    const { filter, after, keys, limit } = this.request;
    const passing = filter === null ? null : filters.resolve(filter);
    const unlisted = slotsIn(filters.unlistedSlots, passing);
    const size = (passing === null ? directory.liveCount : passing.size) - unlisted.length;
    const bitmap = passing === null ? null : without(passing.toBitmap(0), unlisted);
    yield* this.walk({ bitmap, size }, [], after);
    const isFull = this.left === 0;
    const read = new FirstPlaces(keys, after, limit);
    yield* this.look(unlisted, [], read);
    yield* this.lookAtMoved(read);
    if (read.places.length === 0) return answerOf(this.places, limit, isFull);
    const both = [...this.places, ...read.places].sort((a, b) => comparePlaces(keys, a, b));
    return answerOf(both, limit, isFull || read.isFull);
  }

  /** Items that were written meanwhile are in slots that the walk does not know. */
  private *lookAtMoved(read: FirstPlaces): Generator<undefined, void> {
    const { filters } = this.indexes;
    const { filter } = this.request;
    const looked = new Set<number>();
    for (;;) {
      const moved = this.moved().filter((slot) => !looked.has(slot));
      if (moved.length === 0) return;
      for (const slot of moved) looked.add(slot);
      const passing = filter === null ? null : filters.resolve(filter);
      yield* this.look(passing === null ? moved : moved.filter((slot) => passing.has(slot)), [], read);
    }
  }

  private get readMax(): number {
    const { liveCount } = this.indexes.directory;
    return Math.min(this.bounds.read, Math.max(READ_MIN, Math.floor(liveCount / VALUES_PER_ITEM)));
  }

  private get left(): number {
    return this.request.limit - this.places.length;
  }

  /**
   * Adds the first of the slots, whose values of the first keys are `values`, behind `after`; null: from the first on.
   */
  private *walk(slots: SlotBits, values: readonly Scalar[], after: OrderPlace | null): Generator<undefined, void> {
    const { keys } = this.request;
    if (this.left === 0 || slots.size === 0) return;
    if (slots.size <= this.readMax || values.length === keys.length) return yield* this.readAll(slots, values, after);
    const { missingFirst } = keys[values.length];
    const start = after?.values[values.length];
    if (missingFirst && (start ?? null) === null) yield* this.walkMissing(slots, values, after);
    if (missingFirst || start !== null) yield* this.walkValues(slots, values, start === null ? null : after);
    if (!missingFirst) yield* this.walkMissing(slots, values, start === null ? after : null);
  }

  private *walkMissing(
    { bitmap }: SlotBits,
    values: readonly Scalar[],
    after: OrderPlace | null,
  ): Generator<undefined, void> {
    if (this.left === 0) return;
    const missing = this.indexes.filters.order.missing(this.request.keys[values.length].field, bitmap);
    yield;
    yield* this.walk(bitsOf(missing), [...values, null], after);
  }

  private *walkValues(
    { bitmap }: SlotBits,
    values: readonly Scalar[],
    after: OrderPlace | null,
  ): Generator<undefined, void> {
    const { order } = this.indexes.filters;
    const { keys } = this.request;
    const { field, descending } = keys[values.length];
    const listedMax = values.length + 1 === keys.length ? this.bounds.compared : this.readMax;
    yield* order.prepare(field);
    const start = after?.values[values.length] ?? null;
    let from = start === null ? null : { value: start, included: true };
    while (this.left > 0) {
      const found = order.some(field, { descending, from, slots: this.left, listedMax }, bitmap);
      yield;
      if (found.bitmap === null) {
        const read = new FirstPlaces(keys, after, this.left);
        for (let group = 0, at = 0; group < found.values.length; at = found.ends[group], group += 1)
          yield* this.look(found.slots.subarray(at, found.ends[group]), [...values, found.values[group]], read);
        this.places.push(...read.places);
      } else {
        const [value] = found.values;
        yield* this.walk(bitsOf(found.bitmap), [...values, value], value === start ? after : null);
      }
      if (!found.more || found.last === null) return;
      from = { value: found.last, included: false };
    }
  }

  private *readAll(
    { bitmap, size }: SlotBits,
    values: readonly Scalar[],
    after: OrderPlace | null,
  ): Generator<undefined, void> {
    const { directory, filters } = this.indexes;
    const { keys } = this.request;
    const read = new FirstPlaces(keys, after, this.left);
    if (bitmap === null) {
      const { unlistedSlots } = filters;
      yield* this.look(
        [...directory.liveSlots()].filter((slot) => !unlistedSlots.has(slot)),
        values,
        read,
      );
    } else if (values.length === keys.length && size > this.bounds.compared && directory.byId.isReady())
      yield* this.lookById(bitmap, values, after?.externalId ?? null, read);
    else yield* this.look(eachSlot(bitmap), values, read);
    this.places.push(...read.places);
  }

  /** The same of slots that have all values in common, those alone that are next behind an id. */
  private *lookById(
    bitmap: Uint32Array,
    values: readonly Scalar[],
    externalId: string | null,
    read: FirstPlaces,
  ): Generator<undefined, void> {
    const { byId } = this.indexes.directory;
    for (let behind = externalId; !read.isFull;) {
      yield* byId.refresh();
      // Given up meanwhile, for very many writes.
      if (!byId.isReady()) return yield* this.look(eachSlot(bitmap), values, read);
      const { slots, last } = byId.next(behind, this.left, bitmap);
      yield* this.look(slots, values, read);
      if (last === null) return;
      yield;
      behind = last;
    }
  }

  /** Reads where items are that have these values of the first keys. */
  private *look(slots: Iterable<number>, values: readonly Scalar[], read: FirstPlaces): Generator<undefined, void> {
    const { directory } = this.indexes;
    const { keys } = this.request;
    let compared = 0;
    for (const slot of slots) {
      if (!directory.isLive(slot)) continue;
      const externalId = directory.externalIdOf(slot);
      if (values.length === keys.length && !read.hasRoomFor({ values, externalId })) {
        compared += 1;
        if (compared % IDS_AT_ONCE === 0) yield;
        continue;
      }
      const own = orderValuesOf(directory.metadataOf(slot), keys);
      if (values.every((value, i) => own[i] === value)) read.add({ values: own, externalId });
      yield;
    }
  }
}

/** An item that was written meanwhile may be there twice. */
function answerOf(sorted: OrderPlace[], limit: number, isFull: boolean): OrderAnswer {
  const ids = new Set<string>();
  const places: OrderPlace[] = [];
  let bytes = 0;
  for (const place of sorted) {
    if (ids.has(place.externalId)) continue;
    if (places.length === limit || bytes >= PLACES_BYTES_MAX) return { places, more: true };
    ids.add(place.externalId);
    places.push(place);
    bytes += Buffer.byteLength(JSON.stringify(place));
  }
  return { places, more: isFull };
}

function slotsIn(slots: SlotSet, passing: SlotSet | null): Uint32Array {
  const all = slots.toArray();
  return passing === null ? all : all.filter((slot) => passing.has(slot));
}

function without(bitmap: Uint32Array, slots: Uint32Array): Uint32Array {
  if (slots.length === 0) return bitmap;
  const left = bitmap.slice();
  for (const slot of slots) left[slot >>> 5] &= ~(1 << (slot & 31));
  return left;
}

function bitsOf(bitmap: Uint32Array): SlotBits {
  let size = 0;
  for (const word of bitmap) size += popcount(word);
  return { bitmap, size };
}

function* eachSlot(bitmap: Uint32Array): Iterable<number> {
  for (const [i, bits] of bitmap.entries())
    for (let word = bits; word !== 0; word &= word - 1) yield i * 32 + 31 - Math.clz32(word & -word);
}
