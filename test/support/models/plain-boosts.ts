import { matches } from '../../../node/engine/filter/matches';
import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import type { Boost, Boosts, DecayBoost } from '../../../shared/contract/shard/boosts';

/** What boosts mean, one item at a time. */

const EARTH_METRES = 6_371_008.8;

/** The number that each boost makes of an item. */
export function plainBoostNumbers({ mode, parts }: Boosts, metadata: JsonObject): number[] {
  return parts.map((boost) => {
    const [none, least] = mode === 'multiply' ? [1, 0.001] : [0, -1e18];
    const held = (number: number): number => Math.min(1e18, Math.max(least, number));
    if (boost.type === 'filter') return matches(boost.filter, metadata) ? held(boost.weight) : none;
    const strength = strengthOf(boost, metadata);
    if (strength === null) return none;
    return held(none + (boost.weight === 0 ? 0 : boost.weight * strength));
  });
}

export function plainBoosted({ mode }: Boosts, score: number, numbers: readonly number[]): number {
  if (mode === 'add') return score + numbers.reduce((sum, one) => sum + one, 0);
  const product = numbers.reduce((all, one) => all * one, 1);
  return score >= 0 ? score * product : score / product;
}

function strengthOf(boost: Exclude<Boost, { type: 'filter' }>, metadata: JsonObject): number | null {
  const value = lookUpPath(metadata, boost.path);
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (boost.type === 'field') {
    const numbers = values.filter((one) => typeof one === 'number');
    if (numbers.length === 0) return boost.missing;
    const most = Math.max(...numbers);
    const above = Math.max(most, 0);
    const made = { none: most, log1p: Math.log1p(above), sqrt: Math.sqrt(above), square: above * above };
    return boost.modifier === 'reciprocal' ? 1 / (1 + above) : made[boost.modifier];
  }
  const distances = values.flatMap((one) => distance(boost.origin, one));
  return distances.length === 0 ? boost.missing : decay(boost, Math.min(...distances));
}

function decay({ shape, scale, offset, at }: DecayBoost, far: number): number {
  const x = far <= offset ? 0 : (far - offset) / scale;
  if (shape === 'linear') return Math.max(0, 1 - (1 - at) * x);
  return at ** (shape === 'exp' ? x : x * x);
}

function distance(origin: DecayBoost['origin'], value: JsonValue): number[] {
  if (typeof origin === 'number') return typeof value === 'number' ? [Math.abs(value - origin)] : [];
  if ('time' in origin) {
    const time = typeof value === 'string' ? Date.parse(value) : NaN;
    return Number.isNaN(time) ? [] : [Math.abs(time - origin.time)];
  }
  const { lat, lon } = value as { lat?: unknown; lon?: unknown };
  if (typeof lat !== 'number' || typeof lon !== 'number') return [];
  const radians = (degrees: number): number => degrees * (Math.PI / 180);
  const square =
    Math.sin(radians(lat - origin.lat) / 2) ** 2 +
    Math.cos(radians(origin.lat)) * Math.cos(radians(lat)) * Math.sin(radians(lon - origin.lon) / 2) ** 2;
  return [2 * EARTH_METRES * Math.asin(Math.min(1, Math.sqrt(square)))];
}
