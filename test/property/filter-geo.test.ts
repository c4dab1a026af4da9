import { type GeoBounds, geoTest, pointsOf } from '../../node/engine/filter/geo-points';
import { matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import type { Filter, GeoCondition, GeoShape, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { runSeed, seededRandom } from '../support/values/random';

/** Shapes on the Earth: what passes them against plainer definitions, and the index against the plain predicate. */

const ITEMS = 4_000;

class Earth {
  private readonly random = seededRandom(runSeed('filter-geo'));

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Mostly near a few places, often on whole degrees: the poles and both sides of the date line among them. */
  lat(): number {
    const kind = this.below(4);
    if (kind === 0) return this.below(181) - 90;
    if (kind === 1) return 52 + this.random();
    return kind === 2 ? Math.max(-90, Math.min(90, (this.random() - 0.5) * 400)) : this.random() * 180 - 90;
  }

  lon(): number {
    const kind = this.below(4);
    if (kind === 0) return this.below(361) - 180;
    if (kind === 1) return 13 + this.random();
    return kind === 2 ? Math.max(-180, Math.min(180, (this.random() - 0.5) * 1_000)) : this.random() * 360 - 180;
  }

  point(): JsonValue {
    const { lat, lon } = { lat: this.lat(), lon: this.lon() };
    const kind = this.below(6);
    if (kind === 0) return { type: 'Point', coordinates: [lon, lat, 5] };
    if (kind === 1) return { lat, lon, name: 'x' };
    return { lat, lon };
  }

  value(): JsonValue {
    const kind = this.below(14);
    if (kind === 0) return null;
    if (kind === 1) return [];
    if (kind === 2) return Array.from({ length: 1 + this.below(3) }, () => this.point());
    if (kind === 3) return { lat: 91, lon: this.lon() };
    if (kind === 4) return { lat: '1', lon: 2 };
    if (kind === 5) return { type: 'Point', coordinates: [] };
    if (kind === 6) return { lat: 52.5, lon: 13.4 };
    return this.point();
  }

  item(): JsonObject {
    if (this.below(12) === 0) return { 'at.home': this.value(), at: { home: this.value() } };
    return { at: this.value(), n: this.below(3) };
  }

  condition(): JsonObject {
    const kind = this.below(3);
    if (kind === 0)
      return {
        $geo_radius: {
          lat: this.lat(),
          lon: this.lon(),
          metres: this.below(5) === 0 ? 0 : 10 ** (2 + this.random() * 5.4),
        },
      };
    if (kind === 1) {
      const lats = [this.lat(), this.lat()].sort((a, b) => a - b);
      return { $geo_box: { min_lat: lats[0], max_lat: lats[1], min_lon: this.lon(), max_lon: this.lon() } };
    }
    const [lat, lon, reach] = [this.lat(), this.lon(), 10 ** (this.random() * 2.2)];
    const within = (degrees: number, max: number): number => Math.max(-max, Math.min(max, degrees));
    const turned = (degrees: number): number => within(((degrees + 540) % 360) - 180, 180);
    const whole = this.below(2) === 0 ? Math.round : (value: number): number => value;
    return {
      $geo_polygon: Array.from({ length: 3 + this.below(8) }, () => ({
        lat: within(whole(lat + (this.random() - 0.5) * reach), 90),
        lon: turned(whole(lon + (this.random() - 0.5) * reach)),
      })),
    };
  }

  filter(): JsonObject {
    const one = (): JsonObject => ({ [this.below(6) === 0 ? 'at.home' : 'at']: this.condition() });
    const kind = this.below(6);
    if (kind === 0) return { $not: one() };
    if (kind === 1) return { ...one(), n: { $gt: 0 } };
    if (kind === 2) return { $or: [one(), { $and: [one(), { n: 2 }] }] };
    if (kind === 3) return { at: { $elem_match: this.condition() } };
    return one();
  }

  shape(): GeoShape {
    for (;;) {
      try {
        return (parseFilter({ at: this.condition() }) as GeoCondition).shape;
      } catch {
        // Around a pole.
      }
    }
  }
}

/** Whether a point is in a shape, by other formulas; null: too near the edge to tell. */
function plainly(shape: GeoShape, lat: number, lon: number): boolean | null {
  const radians = Math.PI / 180;
  if (shape.kind === 'radius') {
    const vector = (phi: number, lambda: number): number[] => [
      Math.cos(phi * radians) * Math.cos(lambda * radians),
      Math.cos(phi * radians) * Math.sin(lambda * radians),
      Math.sin(phi * radians),
    ];
    const [a, b] = [vector(lat, lon), vector(shape.lat, shape.lon)];
    const apart = 2 * Math.asin(Math.min(1, Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 2)) * 6_371_008.8;
    return Math.abs(apart - shape.metres) < 1 ? null : apart < shape.metres;
  }
  if (shape.kind === 'box') {
    const east = (from: number, to: number): number => (((to - from) % 360) + 360) % 360;
    const width = shape.maxLon >= shape.minLon ? shape.maxLon - shape.minLon : east(shape.minLon, shape.maxLon);
    return lat >= shape.minLat && lat <= shape.maxLat && east(shape.minLon, lon) <= width;
  }
  // The angles under which a point sees the edges of its own turn around the Earth add up to turns: odd ones are inside
  // where no part is covered twice the same way, so only polygons of three corners are told.
  const { corners } = shape;
  if (corners.length !== 6) return null;
  const lons = [corners[1]];
  for (const i of [3, 5]) {
    const step = corners[i] - lons[lons.length - 1];
    lons.push(corners[i] - 360 * Math.round(step / 360));
  }
  const area = (x1: number, y1: number, x2: number, y2: number, x3: number, y3: number): number =>
    (x2 - x1) * (y3 - y1) - (x3 - x1) * (y2 - y1);
  for (const at of [lon - 720, lon - 360, lon, lon + 360, lon + 720]) {
    const turns = [0, 1, 2].map((i) =>
      area(lons[i], corners[2 * i], lons[(i + 1) % 3], corners[(2 * i + 2) % 6], at, lat),
    );
    if (turns.some((turn) => Math.abs(turn) < 1e-6)) return null;
    if (turns.every((turn) => turn > 0) || turns.every((turn) => turn < 0)) return true;
  }
  return false;
}

test('circles, boxes and triangles have the points that other formulas find', () => {
  const earth = new Earth();
  let inside = 0;
  for (let i = 0; i < 20_000; i++) {
    const [shape, lat, lon] = [earth.shape(), earth.lat(), earth.lon()];
    const expected = plainly(shape, lat, lon);
    if (expected === null) continue;
    const has = geoTest(shape).has(lat, lon);
    if (has !== expected) throw new Error(`${JSON.stringify(shape)} ${lat} ${lon}: ${has}`);
    inside += Number(has);
  }
  expect(inside).toBeGreaterThan(1_000);
});

test('what is known of all points within bounds holds for each', () => {
  const earth = new Earth();
  const known = [0, 0, 0];
  for (let i = 0; i < 20_000; i++) {
    const test = geoTest(earth.shape());
    const lats = [earth.lat(), earth.lat()].sort((a, b) => a - b);
    const lons = [earth.lon(), earth.lon()].sort((a, b) => a - b);
    const part = 0.1 ** earth.below(4);
    const bounds: GeoBounds = {
      minLat: lats[0],
      maxLat: lats[0] + (lats[1] - lats[0]) * part,
      minLon: lons[0],
      maxLon: lons[0] + (lons[1] - lons[0]) * part,
    };
    const relation = test.relation(bounds);
    known[relation + 1] += 1;
    for (let point = 0; relation !== 0 && point < 12; point++) {
      const [y, x] = [earth.below(9) / 8, earth.below(9) / 8];
      const lat = bounds.minLat + (bounds.maxLat - bounds.minLat) * y;
      const lon = bounds.minLon + (bounds.maxLon - bounds.minLon) * x;
      if (test.has(lat, lon) !== relation > 0) throw new Error(`${JSON.stringify(bounds)}: ${lat} ${lon}, ${relation}`);
    }
  }
  expect(Math.min(...known)).toBeGreaterThan(500);
});

test.each<[string, [number, number][], [number, number][], [number, number][]]>([
  ['a bow, which crosses itself', [[0, 0], [2, 2], [2, 0], [0, 2]], [[0.2, 1], [1.8, 1], [1, 1], [0, 0], [2, 1]], [[1, 0.2], [1, 1.8]]],
  ['a star with five tips, whose middle is outside', [[10, 0], [-8, 6], [3, -10], [3, 10], [-8, -6]], [[8, 0], [2.5, 8]], [[0, 0], [-7, 0]]],
  ['one across the date line', [[0, 170], [10, -170], [-10, -170]], [[0, 180], [0, -180], [0, -171], [9, -170.5]], [[0, 169], [0, 0], [9, 179]]],
  ['one across it, with corners between degrees', [[0, -169.9], [5, 170.3], [5, -169.9], [-5, 170.7]], [[5, 170.3], [0, -169.9], [-5, 170.7]], [[5, 170.2]]],
  ['a single point', [[1.1, 2.3], [1.1, 2.3], [1.1, 2.3]], [[1.1, 2.3]], [[1.1, 2.4], [1.2, 2.3]]],
  ['one with an edge up and down', [[0, 0], [0, 10], [10, 10], [10, 0]], [[0, 5], [5, 0], [10, 10], [10, 0]], [[-0.001, 5], [5, 10.001]]],
])('%s', (_, corners, inside, outside) => {
  const test = geoTest({ kind: 'polygon', corners: corners.flat() });
  for (const [lat, lon] of inside) expect([lat, lon, test.has(lat, lon)]).toEqual([lat, lon, true]);
  for (const [lat, lon] of outside) expect([lat, lon, test.has(lat, lon)]).toEqual([lat, lon, false]);
}); // prettier-ignore

test('what is a point, and what is none', () => {
  expect(pointsOf({ lat: 90, lon: -180, more: 1 })).toEqual([{ lat: 90, lon: -180 }]);
  expect(pointsOf({ type: 'Point', coordinates: [13, 52] })).toEqual([{ lat: 52, lon: 13 }]);
  expect(pointsOf([{ lat: 1, lon: 2 }, 3, [{ lat: 1, lon: 2 }], null])).toEqual([{ lat: 1, lon: 2 }]);
  for (const none of [
    undefined,
    null,
    [52, 13],
    { lat: 90.1, lon: 0 },
    { lat: 0, lon: 181 },
    { lat: '0', lon: 0 },
    { lat: 0 },
    { type: 'Polygon', coordinates: [1, 2] },
    { type: 'Point', coordinates: { 0: 1, 1: 2 } },
    { type: 'Point' },
  ])
    expect(pointsOf(none as JsonValue)).toEqual([]);
});

test('the index finds the points that pass, through puts and removes', async () => {
  const earth = new Earth();
  const model = new Map<number, JsonObject>();
  const index = new MemoryFilterIndex({ metadataOf: (slot) => model.get(slot) as JsonObject });
  const put = (slot: number): void => {
    const before = model.get(slot);
    if (before !== undefined) index.remove(slot, before);
    const item = earth.item();
    model.set(slot, item);
    index.put(slot, item);
  };
  for (let slot = 0; slot < ITEMS; slot++) put(slot);
  let found = 0;
  for (let i = 0; i < 240; i++) {
    let filter: Filter;
    try {
      filter = parseFilter(earth.filter()) as Filter;
    } catch {
      continue;
    }
    if (i % 3 > 0) {
      const ready = index.prepare(filter);
      if (i % 3 === 1) for (let left = 20; left > 0; left--) put(earth.below(ITEMS + 100));
      await ready;
    }
    const expected = [...model].filter(([, item]) => matches(filter, item)).map(([slot]) => slot);
    const slots = index.resolve(filter).toArray();
    if (slots.join() !== expected.sort((a, b) => a - b).join())
      throw new Error(`${JSON.stringify(filter)}: ${slots.length} instead of ${expected.length}`);
    found += slots.length;
  }
  expect(found).toBeGreaterThan(20_000);
});
