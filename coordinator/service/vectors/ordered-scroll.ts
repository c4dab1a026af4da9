import {
  compareOrderValues,
  comparePlaces,
  type OrderAnswer,
  type OrderKey,
  type OrderPlace,
  orderValuesOf,
} from '../../../shared/contract/shard/item-order';
import { itemBytes } from '../../../shared/contract/shard/shard-read';
import type { VectorView } from '../service';

/** What a page in an order is made of. */
interface OrderedPage {
  keys: readonly OrderKey[];
  after: OrderPlace | null;
  limit: number;
  /** After so many characters and bytes of items, the page ends. */
  bytesMax: number;
  /** The first `limit` places behind `after` in the collection, or fewer. */
  first: (after: OrderPlace | null, limit: number) => Promise<OrderAnswer>;
  /** The items of these ids that pass the filter, without those that are gone. */
  read: (externalIds: string[]) => AsyncIterable<VectorView[]>;
  /** The place of the last item that was given; null: none follow. */
  ended: (last: OrderPlace | null) => void;
}

/**
 * A page of items in the order of their values, and of their ids where these are equal. First the places are found, and
 * then their items read whole. One that has got other values meanwhile is left out here, because its place is another.
 */
export async function* orderedPages(wanted: OrderedPage): AsyncGenerator<VectorView[]> {
  const { keys, limit, bytesMax, ended } = wanted;
  let { after } = wanted;
  let left = limit;
  let bytes = 0;
  for (;;) {
    // One more than wanted shows whether any follow.
    const found = await wanted.first(after, left + 1);
    const places = found.places.slice(0, left);
    let given = 0;
    for await (const items of wanted.read(places.map(({ externalId }) => externalId))) {
      const page: VectorView[] = [];
      for (const item of items) {
        while (places[given].externalId !== item.externalId) given += 1;
        const { values } = places[given++];
        if (compareOrderValues(keys, values, orderValuesOf(item.metadata, keys)) !== 0) continue;
        page.push(item);
        bytes += itemBytes(item);
      }
      if (page.length > 0) yield page;
      if (bytes >= bytesMax && given < places.length) return ended(places[given - 1]);
    }
    after = places.at(-1) ?? after;
    left -= places.length;
    if (found.places.length > places.length) return ended(after);
    if (!found.more) return ended(null);
    if (bytes >= bytesMax && left > 0) return ended(after);
  }
}

/** The first `limit` of what shards answered: as far as none of them has others that come before. */
export function mergedPlaces(keys: readonly OrderKey[], answers: readonly OrderAnswer[], limit: number): OrderAnswer {
  const ends = answers.filter(({ more }) => more).map(({ places }) => places.at(-1)!);
  const first = ends.sort((a, b) => comparePlaces(keys, a, b)).at(0);
  const known = answers
    .flatMap(({ places }) => places)
    .filter((place) => first === undefined || comparePlaces(keys, place, first) <= 0)
    .sort((a, b) => comparePlaces(keys, a, b));
  return { places: known.slice(0, limit), more: first !== undefined || known.length > limit };
}
