import { comparePlaces, type OrderKey, type OrderPlace } from '../../../../shared/contract/shard/item-order';

/** The first places behind another, in their order. */
export class FirstPlaces {
  readonly places: OrderPlace[] = [];

  constructor(
    private readonly keys: readonly OrderKey[],
    private readonly after: OrderPlace | null,
    private readonly countMax: number,
  ) {}

  get isFull(): boolean {
    return this.places.length === this.countMax;
  }

  /** Whether it would be one of them. */
  hasRoomFor(place: OrderPlace): boolean {
    const { keys, after, places, countMax } = this;
    if (after !== null && comparePlaces(keys, place, after) <= 0) return false;
    return !this.isFull || comparePlaces(keys, place, places[countMax - 1]) <= 0;
  }

  add(place: OrderPlace): void {
    if (!this.hasRoomFor(place)) return;
    const { keys, places, countMax } = this;
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
