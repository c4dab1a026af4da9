import type { JsonValue } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { type GeoPoint, type GeoTest, pointsOf } from './geo-points';
import type { PathIndex } from './path-index';
import { PointOrder } from './point-order';

/** The points that items have under one path. */
export class GeoIndex implements PathIndex {
  private readonly points = new PointOrder();
  private readonly slots = new ChunkedSlotSet();
  /** Above every slot that was put. */
  private slotLimit = 0;
  isWhole = false;
  readonly isFull = false;

  has(slot: number): boolean {
    return this.slots.has(slot);
  }

  put(slot: number, value: JsonValue): void {
    const points = distinctPointsOf(value);
    if (points.length === 0) return;
    for (const point of points) this.points.add(slot, point);
    this.slots.add(slot);
    this.slotLimit = Math.max(this.slotLimit, slot + 1);
  }

  remove(slot: number, value: JsonValue): void {
    if (!this.slots.remove(slot)) return;
    for (const point of distinctPointsOf(value)) this.points.remove(slot, point);
  }

  *passing(test: GeoTest): Generator<undefined, ChunkedSlotSet> {
    return ChunkedSlotSet.fromBitmap(yield* this.points.passing(test, this.slotLimit));
  }

  get memoryBytes(): number {
    return this.points.memoryBytes;
  }
}

/** Each point once: a point that was put twice would have to be removed twice. */
function distinctPointsOf(value: JsonValue): GeoPoint[] {
  const points = pointsOf(value);
  if (points.length < 2) return points;
  return [...new Map(points.map((point) => [`${point.lat} ${point.lon}`, point])).values()];
}
