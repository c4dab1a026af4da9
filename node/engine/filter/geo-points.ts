import type { GeoShape, JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { ringOf } from '../../../shared/contract/filter/geo-ring';
import { isJsonObject } from '../../../shared/contract/filter/metadata-path';

/** A place on the Earth, in degrees. */
export interface GeoPoint {
  lat: number;
  lon: number;
}

/** A part of the Earth between two latitudes and two longitudes, as points have them. */
export interface GeoBounds {
  minLat: number;
  maxLat: number;
  minLon: number;
  maxLon: number;
}

/** What a shape is asked. */
export interface GeoTest {
  has: (lat: number, lon: number) => boolean;
  /** What is known of all points within the bounds: 1 they pass, −1 none does, 0 nothing. */
  relation: (bounds: GeoBounds) => -1 | 0 | 1;
}

/**
 * The points that a value is: `{lat, lon}`, a GeoJSON point (`{"type": "Point", "coordinates": [lon, lat]}`), or an
 * array of such. Others, and those beyond ±90 and ±180 degrees, are none.
 */
export function pointsOf(value: JsonValue | undefined): GeoPoint[] {
  if (Array.isArray(value)) return value.flatMap((element) => (isJsonObject(element) ? pointsOf(element) : []));
  if (!isJsonObject(value)) return [];
  const { lat, lon } = Object.hasOwn(value, 'lat') && Object.hasOwn(value, 'lon') ? value : ofGeoJson(value);
  return isDegrees(lat, 90) && isDegrees(lon, 180) ? [{ lat, lon }] : [];
}

function ofGeoJson(value: JsonObject): JsonObject {
  if (!Object.hasOwn(value, 'type') || value.type !== 'Point' || !Array.isArray(value.coordinates)) return {};
  const [lon, lat] = value.coordinates as (JsonValue | undefined)[];
  return { lat: lat ?? null, lon: lon ?? null };
}

function isDegrees(value: JsonValue | undefined, max: number): value is number {
  return typeof value === 'number' && value >= -max && value <= max;
}

/** Of the sphere that has the Earth's mean radius. */
const RADIUS_METRES = 6_371_008.8;
const RADIANS = Math.PI / 180;
/** Of a circle around bounds whose farthest point is one of their corners; at a right angle it need not be. */
const REACH_MAX = 1.5;
/** More than rounding can add to an angle. */
const SLACK = 1e-7;

const tests = new WeakMap<GeoShape, GeoTest>();

/** The test of a shape, made once. */
export function geoTest(shape: GeoShape): GeoTest {
  let test = tests.get(shape);
  if (test === undefined) tests.set(shape, (test = newTest(shape)));
  return test;
}

function newTest(shape: GeoShape): GeoTest {
  switch (shape.kind) {
    case 'radius':
      return radiusTest(shape);
    case 'box':
      return boxTest(shape);
    case 'polygon':
      return polygonTest(shape.corners);
  }
}

/** The great-circle distance of two places, in metres. */
export function metresBetween(one: GeoPoint, other: GeoPoint): number {
  const square =
    Math.sin(((other.lat - one.lat) * RADIANS) / 2) ** 2 +
    Math.cos(one.lat * RADIANS) * Math.cos(other.lat * RADIANS) * Math.sin(((other.lon - one.lon) * RADIANS) / 2) ** 2;
  return 2 * RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(square)));
}

/** Great-circle distance, by haversines: (sin d/2r)² ≤ (sin metres/2r)². */
function radiusTest({ lat, lon, metres }: Extract<GeoShape, { kind: 'radius' }>): GeoTest {
  const half = metres / (2 * RADIUS_METRES);
  if (half >= Math.PI / 2) return { has: () => true, relation: () => 1 };
  const bound = Math.sin(half) ** 2;
  const cosine = Math.cos(lat * RADIANS);
  const haversine = (otherLat: number, otherLon: number): number =>
    Math.sin(((otherLat - lat) * RADIANS) / 2) ** 2 +
    cosine * Math.cos(otherLat * RADIANS) * Math.sin(((otherLon - lon) * RADIANS) / 2) ** 2;
  const ownAngle = 2 * half;
  return {
    has: (otherLat, otherLon) => haversine(otherLat, otherLon) <= bound,
    relation: (bounds) => {
      // All points are within a circle around the middle, whose angle is that of its farthest corner.
      const middleLat = (bounds.minLat + bounds.maxLat) / 2;
      const halfLon = (bounds.maxLon - bounds.minLon) / 2;
      const reach = Math.max(
        angleBetween(middleLat, bounds.minLat, halfLon),
        angleBetween(middleLat, bounds.maxLat, halfLon),
      );
      if (reach > REACH_MAX) return 0;
      const angle = 2 * Math.asin(Math.min(1, Math.sqrt(haversine(middleLat, bounds.minLon + halfLon))));
      if (angle + reach < ownAngle - SLACK) return 1;
      return angle - reach > ownAngle + SLACK ? -1 : 0;
    },
  };
}

function angleBetween(lat: number, otherLat: number, lonApart: number): number {
  const square =
    Math.sin(((otherLat - lat) * RADIANS) / 2) ** 2 +
    Math.cos(lat * RADIANS) * Math.cos(otherLat * RADIANS) * Math.sin((lonApart * RADIANS) / 2) ** 2;
  return 2 * Math.asin(Math.min(1, Math.sqrt(square)));
}

/** Edges are in it. ±180 degrees are one meridian. */
function boxTest({ minLat, minLon, maxLat, maxLon }: Extract<GeoShape, { kind: 'box' }>): GeoTest {
  const ranges =
    minLon <= maxLon
      ? [[minLon, maxLon]]
      : [
          [minLon, 180],
          [-180, maxLon],
        ];
  if (ranges.some(([, high]) => high === 180)) ranges.push([-180, -180]);
  if (ranges.some(([low]) => low === -180)) ranges.push([180, 180]);
  return {
    has: (lat, lon) => lat >= minLat && lat <= maxLat && ranges.some(([low, high]) => lon >= low && lon <= high),
    relation: (bounds) => {
      if (bounds.maxLat < minLat || bounds.minLat > maxLat) return -1;
      if (!ranges.some(([low, high]) => bounds.maxLon >= low && bounds.minLon <= high)) return -1;
      const isWithin =
        bounds.minLat >= minLat &&
        bounds.maxLat <= maxLat &&
        ranges.some(([low, high]) => bounds.minLon >= low && bounds.maxLon <= high);
      return isWithin ? 1 : 0;
    },
  };
}

/** So many bands of latitudes divide a polygon: of a thousand edges, a point is compared with a few. */
const BANDS = 256;

/**
 * Edges are straight in degrees, and in it. Where the polygon crosses itself, a point is inside if a line from it meets
 * the edges an odd number of times.
 */
function polygonTest(corners: readonly number[]): GeoTest {
  const { lats, lons } = ringOf(corners) ?? { lats: [], lons: [] };
  const [south, north] = [Math.min(...lats), Math.max(...lats)];
  const [west, east] = [Math.min(...lons), Math.max(...lons)];
  const height = (north - south) / BANDS || 1;
  const bandOf = (lat: number): number => Math.max(0, Math.min(BANDS - 1, Math.floor((lat - south) / height)));
  const bands: number[][] = Array.from({ length: BANDS }, () => []);
  const end = (i: number): number => (i + 1 === lats.length ? 0 : i + 1);
  lats.forEach((lat, i) => {
    const [low, high] = [Math.min(lat, lats[end(i)]), Math.max(lat, lats[end(i)])];
    for (let band = bandOf(low); band <= bandOf(high); band++) bands[band].push(i);
  });
  const hasAt = (lat: number, lon: number): boolean => {
    let isInside = false;
    for (const i of bands[bandOf(lat)]) {
      const [lat1, lon1, lat2, lon2] = [lats[i], lons[i], lats[end(i)], lons[end(i)]];
      const turn = (lon2 - lon1) * (lat - lat1) - (lat2 - lat1) * (lon - lon1);
      if (turn === 0 && isBetween(lat, lat1, lat2) && isBetween(lon, lon1, lon2)) return true;
      if (lat1 > lat !== lat2 > lat && lon < ((lon2 - lon1) * (lat - lat1)) / (lat2 - lat1) + lon1)
        isInside = !isInside;
    }
    return isInside;
  };
  const has = (lat: number, lon: number): boolean => {
    if (lat < south || lat > north) return false;
    // One turn more than needed: what is exactly in the west may be rounded to either side of it. A turn is added at
    // once, as to the corners: then a point at one of them is where that is.
    for (let turn = Math.ceil((west - lon) / 360) - 1; lon + 360 * turn <= east; turn++) {
      const at = lon + 360 * turn;
      if (at >= west && hasAt(lat, at)) return true;
    }
    return false;
  };
  return {
    has,
    relation: (bounds) => {
      if (bounds.maxLat < south || bounds.minLat > north) return -1;
      const last = Math.ceil((east - bounds.minLon) / 360);
      for (let turn = Math.floor((west - bounds.maxLon) / 360); turn <= last; turn++) {
        const [low, high] = [bounds.minLon + turn * 360, bounds.maxLon + turn * 360];
        if (high < west || low > east) continue;
        for (let band = bandOf(bounds.minLat); band <= bandOf(bounds.maxLat); band++) {
          for (const i of bands[band]) {
            const j = end(i);
            const isApart =
              Math.max(lats[i], lats[j]) < bounds.minLat ||
              Math.min(lats[i], lats[j]) > bounds.maxLat ||
              Math.max(lons[i], lons[j]) < low ||
              Math.min(lons[i], lons[j]) > high;
            if (!isApart) return 0;
          }
        }
      }
      // No edge comes near, so all of it is where one of its points is.
      return has(bounds.minLat, bounds.minLon) ? 1 : -1;
    },
  };
}

function isBetween(value: number, a: number, b: number): boolean {
  return a <= b ? value >= a && value <= b : value >= b && value <= a;
}
