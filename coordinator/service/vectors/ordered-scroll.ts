import { inSlices } from '../../../shared/base/time/work-slices';
import { itemBytes } from '../../../shared/contract/shard/shard-read';
import type { OrderKey } from '../search-request';
import type { VectorView } from '../service';
import { comparePlaces, compareOrderValues, type OrderPlace, orderValuesOf } from './item-order';

/** What a page in an order is made of. */
interface OrderedPage {
  keys: readonly OrderKey[];
  after: OrderPlace | null;
  limit: number;
  /** After so many characters and bytes of items, the page ends. */
  bytesMax: number;
  /** All items that pass the filter, with their metadata, whatever else they lack. */
  all: () => AsyncIterable<VectorView[]>;
  /** The items of these ids, without those that are gone. */
  read: (externalIds: string[]) => AsyncIterable<VectorView[]>;
  /** The place of the last item that was given; null: none follow. */
  ended: (last: OrderPlace | null) => void;
}

/**
 * A page of items in the order of their values, and of their ids where these are equal. All items are looked through,
 * and the first behind `after` kept; these are then read whole. One that has got other values meanwhile is left out
 * here, because its place is another.
 */
export async function* orderedPages({
  keys,
  after,
  limit,
  bytesMax,
  all,
  read,
  ended,
}: OrderedPage): AsyncGenerator<VectorView[]> {
  // One more than wanted shows whether any follow.
  const first = new FirstPlaces(keys, after, limit + 1);
  for await (const items of all()) await inSlices(first.look(items));
  const places = first.places.slice(0, limit);
  let given = 0;
  let bytes = 0;
  for await (const items of read(places.map(({ externalId }) => externalId))) {
    const page: VectorView[] = [];
    for (const item of items) {
      while (places[given].externalId !== item.externalId) given += 1;
      const { values } = places[given++];
      if (compareOrderValues(keys, values, orderValuesOf(item.metadata, keys)) !== 0) continue;
      page.push(item);
      bytes += itemBytes(item);
    }
    if (page.length > 0) yield page;
    if (bytes >= bytesMax) break;
  }
  const isCut = bytes >= bytesMax && given < places.length;
  ended(isCut ? places[given - 1] : first.places.length > limit ? places.at(-1)! : null);
}

/** The first places behind another, in their order. */
class FirstPlaces {
  readonly places: OrderPlace[] = [];

  constructor(
    private readonly keys: readonly OrderKey[],
    private readonly after: OrderPlace | null,
    private readonly countMax: number,
  ) {}

  *look(items: readonly VectorView[]): Generator<undefined, void> {
    for (const { externalId, metadata } of items) {
      this.add({ values: orderValuesOf(metadata, this.keys), externalId });
      yield;
    }
  }

  private add(place: OrderPlace): void {
    const { keys, after, places, countMax } = this;
    if (after !== null && comparePlaces(keys, place, after) <= 0) return;
    if (places.length === countMax && comparePlaces(keys, place, places[countMax - 1]) > 0) return;
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePlaces(keys, places[middle], place) < 0) low = middle + 1;
      else high = middle;
    }
    // An item that was written meanwhile may come twice.
    if (places[low]?.externalId === place.externalId) return;
    places.splice(low, 0, place);
    if (places.length > countMax) places.pop();
  }
}
