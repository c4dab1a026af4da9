import type { GeoBounds, GeoPoint, GeoTest } from './geo-points';

/** Bits of a latitude, and of a longitude, in a key: 52 together, which a number holds. */
const HALF_BITS = 13;
const HALF = 2 ** HALF_BITS;
const CELLS = HALF * HALF;
/** Points of a block: those at the edge of a shape are looked at one by one. */
const BLOCK_POINTS = 512;
/** Blocks that are passed between two steps; one of which every point is looked at counts as so many. */
const STEP = { blocks: 2_048, tested: 32 };

/** The bits of a number of 13, with a zero before each. */
const SPREAD = Uint32Array.from({ length: HALF }, (_, number) => {
  let spread = 0;
  for (let bit = 0; bit < HALF_BITS; bit++) spread |= ((number >>> bit) & 1) << (2 * bit);
  return spread;
});

/** Points that are near each other mostly have keys near each other (Morton's order). */
function keyOf({ lat, lon }: GeoPoint): number {
  const y = Math.min(CELLS - 1, Math.floor(((lat + 90) / 180) * CELLS));
  const x = Math.min(CELLS - 1, Math.floor(((lon + 180) / 360) * CELLS));
  const low = SPREAD[x & (HALF - 1)] + 2 * SPREAD[y & (HALF - 1)];
  const high = SPREAD[x >>> HALF_BITS] + 2 * SPREAD[y >>> HALF_BITS];
  return high * CELLS + low;
}

class Block implements GeoBounds {
  count = 0;
  readonly slots = new Uint32Array(BLOCK_POINTS);
  readonly lats = new Float64Array(BLOCK_POINTS);
  readonly lons = new Float64Array(BLOCK_POINTS);
  minLat = Infinity;
  maxLat = -Infinity;
  minLon = Infinity;
  maxLon = -Infinity;

  /** The least (key, slot) that belongs here. */
  constructor(
    readonly key: number,
    readonly slot: number,
  ) {}

  add(slot: number, { lat, lon }: GeoPoint): void {
    const at = this.count++;
    this.slots[at] = slot;
    this.lats[at] = lat;
    this.lons[at] = lon;
    if (lat < this.minLat) this.minLat = lat;
    if (lat > this.maxLat) this.maxLat = lat;
    if (lon < this.minLon) this.minLon = lon;
    if (lon > this.maxLon) this.maxLon = lon;
  }

  /** The bounds stay. Answers whether the point was there. */
  remove(slot: number, { lat, lon }: GeoPoint): boolean {
    const { slots, lats, lons } = this;
    for (let i = 0; i < this.count; i++) {
      if (slots[i] !== slot || lats[i] !== lat || lons[i] !== lon) continue;
      const last = --this.count;
      slots[i] = slots[last];
      lats[i] = lats[last];
      lons[i] = lons[last];
      return true;
    }
    return false;
  }
}

/**
 * The points of slots in blocks of some hundred, in an order in which those of a block lie near each other: a shape
 * takes or leaves most blocks as a whole. Some 30 bytes a point.
 */
export class PointOrder {
  private readonly blocks = [new Block(-1, 0)];
  /** Number of points. */
  size = 0;

  add(slot: number, point: GeoPoint): void {
    const key = keyOf(point);
    let place = this.placeOf(key, slot);
    if (this.blocks[place].count === BLOCK_POINTS) {
      this.divide(place);
      place = this.placeOf(key, slot);
    }
    this.blocks[place].add(slot, point);
    this.size += 1;
  }

  /** A point that was added. */
  remove(slot: number, point: GeoPoint): void {
    const key = keyOf(point);
    for (let place = this.placeOf(key, slot); place >= 0; place--) {
      const block = this.blocks[place];
      if (block.remove(slot, point)) {
        this.size -= 1;
        if (block.count === 0 && place > 0) this.blocks.splice(place, 1);
        return;
      }
      // Two points of a slot that have one key may lie on both sides of where a block begins.
      if (block.key < key) return;
    }
  }

  /** A bitmap of the slots that have a point that passes. */
  *passing(test: GeoTest, slotLimit: number): Generator<undefined, Uint32Array> {
    const words = new Uint32Array(Math.ceil(slotLimit / 32));
    let work = 0;
    for (const block of [...this.blocks]) {
      const { slots, lats, lons, count } = block;
      const relation = test.relation(block);
      for (let i = 0; relation >= 0 && i < count; i++)
        if (relation > 0 || test.has(lats[i], lons[i])) words[slots[i] >>> 5] |= 1 << (slots[i] & 31);
      work += relation === 0 ? STEP.tested : 1;
      if (work < STEP.blocks) continue;
      work = 0;
      yield;
    }
    return words;
  }

  get memoryBytes(): number {
    return this.blocks.length * BLOCK_POINTS * 20;
  }

  private placeOf(key: number, slot: number): number {
    const { blocks } = this;
    let from = 1;
    let to = blocks.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const { key: low, slot: lowSlot } = blocks[middle];
      if (low > key || (low === key && lowSlot > slot)) to = middle;
      else from = middle + 1;
    }
    return from - 1;
  }

  private divide(place: number): void {
    const { key, slot, slots, lats, lons, count } = this.blocks[place];
    const points = Array.from({ length: count }, (_, i) => {
      const point = { lat: lats[i], lon: lons[i] };
      return { point, slot: slots[i], key: keyOf(point) };
    }).sort((a, b) => a.key - b.key || a.slot - b.slot);
    const middle = points[count >>> 1];
    const halves = [new Block(key, slot), new Block(middle.key, middle.slot)];
    points.forEach((one, i) => halves[i < count >>> 1 ? 0 : 1].add(one.slot, one.point));
    this.blocks.splice(place, 1, ...halves);
  }
}
