import { bothFilters, type Filter } from '../../../../shared/contract/filter/filter';
import {
  type Boost,
  type BoostMode,
  type Boosts,
  type DecayBoost,
  FACTORS,
  type FieldBoost,
  neutralNumber,
  boostNumber,
  numberOfFilter,
} from '../../../../shared/contract/shard/boosts';

/** The least and the greatest number that items have under a path; null: none has one. */
export type NumberRange = { least: number; most: number } | null;

/** More than rounding can change a bound. */
const SLACK = 1e-9;
/** More than the rounding of a sum can change it, as a part of all its terms. */
const ROUNDING = 2 ** -48;
/** Bounds of values are rounded to so many steps of a power of two, so that filters are asked again and again. */
const STEPS_PER_OCTAVE = 8;
/** The same of what is around an origin: parts of the distance. */
const STEPS_AROUND = 64;
/** Farther apart than any two places, in metres. */
const METRES_MAX = 20_037_508;
/** Times that a date may be, in milliseconds. */
const TIME_MAX = 8.64e15;

const NOTHING: Filter = { type: 'or', filters: [] };

/** The greatest number that a boost can make of an item; `range`: of a field's values, undefined if that is unknown. */
export function mostOf(mode: BoostMode, boost: Boost, range: NumberRange | undefined): number {
  switch (boost.type) {
    case 'filter':
      return Math.max(numberOfFilter(mode, boost, true), numberOfFilter(mode, boost, false));
    case 'decay': {
      // A weight below 0 makes most of what is farthest: of nothing, at most.
      const farthest = boost.weight < 0 ? neutralNumber(mode) : boostNumber(mode, boost, 0);
      return Math.max(farthest, boostNumber(mode, boost, null));
    }
    case 'field': {
      const missing = boostNumber(mode, boost, null);
      if (range === null) return missing;
      if (range === undefined && !isBounded(boost)) return Infinity;
      const { least, most } = range ?? { least: 0, most: Number.MAX_VALUE };
      return Math.max(missing, boostNumber(mode, boost, least), boostNumber(mode, boost, most));
    }
  }
}

/** Whether no value makes more than a number that is known: values below 0 make what 0 makes. */
function isBounded({ modifier, weight }: FieldBoost): boolean {
  return weight === 0 || modifier === 'reciprocal' || (weight < 0 && modifier !== 'none');
}

/**
 * A filter that lets through every item whose numbers together reach `least`, and perhaps others; null: there is none
 * that leaves out anything. `most`: the greatest number of each boost.
 *
 * Each boost has to reach what the others can't make up for, and one at least its part of the whole.
 */
export function reaching({ mode, parts }: Boosts, most: readonly number[], least: number): Filter | null {
  const sums = most.map((number) => inSum(mode, number));
  const wanted = inSum(mode, least);
  if (Number.isNaN(wanted) || sums.some((sum) => Number.isNaN(sum) || sum === Infinity)) return null;
  // Small parts of a great sum are rounded away.
  const slack = ROUNDING * sums.reduce((sum, one) => sum + Math.abs(one), Math.abs(wanted));
  let found: Filter | null = null;
  for (const [i, boost] of parts.entries()) {
    const ofOthers = sums.reduce((sum, one, j) => (j === i ? sum : sum + one), 0);
    const level = levelOf(mode, boost, wanted - ofOthers - slack);
    if (level !== null) found = bothFilters(found, level);
  }
  if (found !== null || wanted <= slack) return found;
  // What is neutral adds 0: so of those that add something, one adds its share.
  const helping = [...parts.keys()].filter((i) => sums[i] > 0);
  const gain = helping.reduce((sum, i) => sum + sums[i], 0);
  if (gain === 0) return NOTHING;
  const levels = helping.map((i) => levelOf(mode, parts[i], ((wanted - slack) * sums[i]) / gain));
  return levels.some((level) => level === null) ? null : { type: 'or', filters: levels as Filter[] };
}

/** Numbers that are multiplied, as what is added up. */
function inSum(mode: BoostMode, number: number): number {
  return mode === 'multiply' ? Math.log(number) : number;
}

/** Lets through each item of which the boost makes `sum` (inSum) or more; null: no filter leaves out anything. */
function levelOf(mode: BoostMode, boost: Boost, sum: number): Filter | null {
  const number = mode === 'multiply' ? Math.exp(sum) : sum;
  const least = number - SLACK * Math.max(1, Math.abs(number));
  if (boost.type === 'filter') {
    const [isIn, isOut] = [true, false].map((passes) => numberOfFilter(mode, boost, passes) >= least);
    if (isIn) return isOut ? null : boost.filter;
    return isOut ? { type: 'not', filter: boost.filter } : NOTHING;
  }
  if (boostNumber(mode, boost, null) >= least || (mode === 'multiply' && least <= FACTORS.least)) return null;
  if (boost.weight === 0 || least > FACTORS.most) return NOTHING;
  const strength = (mode === 'multiply' ? least - 1 : least) / boost.weight;
  return boost.type === 'field' ? valuesFrom(boost, strength) : nearer(boost, strength);
}

/** With a value of which the modifier makes `strength`, or what is better by the sign of the weight. */
function valuesFrom({ path, modifier, weight }: FieldBoost, strength: number): Filter | null {
  const isRising = modifier !== 'reciprocal';
  const value = valueOf(modifier, strength);
  if (Number.isNaN(value)) return null;
  const wantsMore = weight > 0 === isRising;
  return wantsMore
    ? { type: 'between', path, low: rounded(value, false), high: Number.MAX_VALUE }
    : { type: 'between', path, low: -Number.MAX_VALUE, high: rounded(value, true) };
}

/** Of which the modifier makes that: of a number that it makes of several, the one that leaves out less is enough. */
function valueOf(modifier: FieldBoost['modifier'], strength: number): number {
  switch (modifier) {
    case 'none':
      return strength;
    case 'log1p':
      return ofPositive(strength, Math.expm1(strength));
    case 'sqrt':
      return ofPositive(strength, strength * strength);
    case 'square':
      return ofPositive(strength, Math.sqrt(strength));
    case 'reciprocal':
      // All that is not above 0 is taken for 0, which makes 1.
      return strength <= 0 || strength >= 1 ? NaN : 1 / strength - 1;
  }
}

/** Every number below 0 makes what 0 makes. */
function ofPositive(strength: number, value: number): number {
  return strength <= 0 ? NaN : value;
}

/** A number like it that is no more, or with `up` no less. */
function rounded(value: number, up: boolean): number {
  if (value === 0) return 0;
  const steps = Math.log2(Math.abs(value)) * STEPS_PER_OCTAVE;
  const grows = up === value > 0;
  const near =
    Math.sign(value) * 2 ** ((grows ? Math.ceil(steps + SLACK) : Math.floor(steps - SLACK)) / STEPS_PER_OCTAVE);
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, near));
}

/** So near that the decay is `strength` at least. */
function nearer({ path, origin, shape, scale, offset, at, weight }: DecayBoost, strength: number): Filter | null {
  if (weight < 0 || strength <= 0) return null;
  if (strength > 1) return NOTHING;
  const far =
    shape === 'linear'
      ? (1 - strength) / (1 - at)
      : shape === 'exp'
        ? Math.log(strength) / Math.log(at)
        : Math.sqrt(Math.log(strength) / Math.log(at));
  const distance = rounded(offset + scale * far * (1 + SLACK), true);
  if (typeof origin === 'number') {
    const [low, high] = around(origin, distance, Number.MAX_VALUE);
    return { type: 'between', path, low, high };
  }
  if ('time' in origin) {
    const [low, high] = around(origin.time, distance, TIME_MAX);
    return { type: 'between', path, low: { time: low }, high: { time: high } };
  }
  const { lat, lon } = origin;
  return distance >= METRES_MAX ? null : { type: 'geo', path, shape: { kind: 'radius', lat, lon, metres: distance } };
}

/** What is so near to the origin, and a little more: the same for origins that are near each other, as times of now. */
function around(origin: number, distance: number, most: number): [number, number] {
  const step = distance / STEPS_AROUND;
  const low = step > 0 ? Math.floor((origin - distance) / step - SLACK) * step : origin;
  const high = step > 0 ? Math.ceil((origin + distance) / step + SLACK) * step : origin;
  const isExact =
    Number.isFinite(low) && Number.isFinite(high) && low <= origin - distance && high >= origin + distance;
  const [least, greatest] = isExact ? [low, high] : [origin - distance, origin + distance];
  return [Math.max(-most, least), Math.min(most, greatest)];
}
