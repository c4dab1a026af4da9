import type { JsonObject } from '../../../shared/contract/filter/filter';
import { lookUpPath, scalarsOf } from '../../../shared/contract/filter/metadata-path';
import { timeOfText } from '../../../shared/contract/filter/time-of-text';
import type { DecayBoost, DecayOrigin, FieldBoost } from '../../../shared/contract/shard/boosts';
import { metresBetween, pointsOf } from './geo-points';

/** What the metadata have for a boost (boostNumber): the greatest number, or the least distance; null: nothing. */
export function boostValue(boost: FieldBoost | DecayBoost, metadata: JsonObject): number | null {
  if (boost.type === 'decay') return least(distancesOf(boost, metadata));
  const numbers = scalarsOf(lookUpPath(metadata, boost.path)).filter((one) => typeof one === 'number');
  return numbers.length === 0 ? null : numbers.reduce((most, one) => Math.max(most, one));
}

function distancesOf({ path, origin }: { path: string; origin: DecayOrigin }, metadata: JsonObject): number[] {
  const value = lookUpPath(metadata, path);
  if (typeof origin === 'number')
    return scalarsOf(value).flatMap((one) => (typeof one === 'number' ? Math.abs(one - origin) : []));
  if ('time' in origin)
    return scalarsOf(value).flatMap((one) => {
      const time = typeof one === 'string' ? timeOfText(one) : null;
      return time === null ? [] : Math.abs(time - origin.time);
    });
  return pointsOf(value).map((point) => metresBetween(origin, point));
}

function least(distances: readonly number[]): number | null {
  return distances.length === 0 ? null : distances.reduce((nearest, one) => Math.min(nearest, one));
}
