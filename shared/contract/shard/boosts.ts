import type { Filter } from '../filter/filter';
import { filterFromJson } from '../filter/filter-text';
import { finiteScore } from '../vector/metric';

/**
 * What changes the scores of a list besides what is looked for. Each boost makes a number of an item, the numbers are
 * multiplied or added up, and the score of the item is changed by that:
 *
 * - multiply: a filter gives its weight to what passes, a field 1 + weight × its value as `modifier` has it, a decay
 *   1 + weight × the decay; what has none of it 1. Each factor is held between {@link FACTORS}. A score from 0 on is
 *   multiplied by the product, one below 0 is divided by it: so a factor above 1 always helps, one below 1 never does.
 * - add: the same without the 1, and 0 for what has none of it; the sum is added to the score.
 *
 * For a fixed number, a better score stays better, and for a fixed score, a greater number is better. Results are
 * finite.
 */
export interface Boosts {
  mode: BoostMode;
  /** At least one; their numbers are put together in this order. */
  parts: readonly Boost[];
}

export const BOOST_MODES = ['multiply', 'add'] as const;
export type BoostMode = (typeof BOOST_MODES)[number];

/** `weight`: finite. `missing`: what counts for items without a value; null: nothing. */
export type Boost = FilterBoost | FieldBoost | DecayBoost;

export interface FilterBoost {
  type: 'filter';
  filter: Filter;
  weight: number;
}

/** By a number under a path, of a list the greatest. */
export interface FieldBoost {
  type: 'field';
  path: string;
  modifier: BoostModifier;
  weight: number;
  missing: number | null;
}

/**
 * By how near to `origin` the value under a path is, of a list the nearest: 1 up to `offset`, `at` when it is `scale`
 * farther, and down to 0. A decay is from 0 to 1, and so is `missing`.
 */
export interface DecayBoost {
  type: 'decay';
  path: string;
  shape: DecayShape;
  origin: DecayOrigin;
  /** More than 0; as `offset` in the unit of the values, in milliseconds, or in metres. */
  scale: number;
  /** At least 0. */
  offset: number;
  /** Between 0 and 1, neither of them. */
  at: number;
  weight: number;
  missing: number | null;
}

/** A number; a time in milliseconds since 1970, for texts that say one; or a place, for points. */
export type DecayOrigin = number | { time: number } | { lat: number; lon: number };

/** All but `none` take a number below 0 for 0. */
export const BOOST_MODIFIERS = ['none', 'log1p', 'sqrt', 'square', 'reciprocal'] as const;
export type BoostModifier = (typeof BOOST_MODIFIERS)[number];

export const DECAY_SHAPES = ['exp', 'gauss', 'linear'] as const;
export type DecayShape = (typeof DECAY_SHAPES)[number];

/** The least and the greatest number that a boost makes of an item; those that are added are at most the latter. */
export const FACTORS = { least: 0.001, most: 1e18 } as const;

/** The number that says nothing. */
export function neutralNumber(mode: BoostMode): number {
  return mode === 'multiply' ? 1 : 0;
}

/** `value`: what the item has, a number as it is or a distance; null: nothing. */
export function boostNumber(mode: BoostMode, boost: FieldBoost | DecayBoost, value: number | null): number {
  const strength =
    value === null ? boost.missing : boost.type === 'field' ? modified(boost.modifier, value) : decayed(boost, value);
  return fromStrength(mode, boost.weight, strength);
}

/** The same of a filter. */
export function numberOfFilter(mode: BoostMode, { weight }: FilterBoost, passes: boolean): number {
  return passes ? held(mode, weight) : neutralNumber(mode);
}

function fromStrength(mode: BoostMode, weight: number, strength: number | null): number {
  if (strength === null) return neutralNumber(mode);
  // 0 × Infinity, of the square of a huge value.
  const part = weight === 0 ? 0 : weight * strength;
  return held(mode, neutralNumber(mode) + part);
}

function held(mode: BoostMode, number: number): number {
  const least = mode === 'multiply' ? FACTORS.least : -FACTORS.most;
  return Math.min(FACTORS.most, Math.max(least, number));
}

function modified(modifier: BoostModifier, value: number): number {
  const positive = Math.max(0, value);
  switch (modifier) {
    case 'none':
      return value;
    case 'log1p':
      return Math.log1p(positive);
    case 'sqrt':
      return Math.sqrt(positive);
    case 'square':
      return positive * positive;
    case 'reciprocal':
      return 1 / (1 + positive);
  }
}

/** `distance`: from the origin. */
function decayed({ shape, scale, offset, at }: DecayBoost, distance: number): number {
  const far = Math.max(0, distance - offset) / scale;
  switch (shape) {
    case 'exp':
      return at ** far;
    case 'gauss':
      return at ** (far * far);
    case 'linear':
      return Math.max(0, 1 - (1 - at) * far);
  }
}

/** The numbers of an item as one, in the order of the boosts. */
export function together(mode: BoostMode, numbers: readonly number[]): number {
  let all = neutralNumber(mode);
  for (const number of numbers) all = mode === 'multiply' ? all * number : all + number;
  return all;
}

/** What `number`, of all boosts together, makes of a score. */
export function boostedScore(mode: BoostMode, score: number, number: number): number {
  return finiteScore(mode === 'add' ? score + number : score >= 0 ? score * number : score / number);
}

/** The filters among them. */
export function filtersOfBoosts({ parts }: Boosts): Filter[] {
  return parts.flatMap((boost) => (boost.type === 'filter' ? [boost.filter] : []));
}

/** With each filter as `change` has it; themselves where that changes none. */
export function withFilters(boosts: Boosts, change: (filter: Filter) => Filter): Boosts {
  const parts = boosts.parts.map((boost): Boost => {
    if (boost.type !== 'filter') return boost;
    const filter = change(boost.filter);
    return filter === boost.filter ? boost : { ...boost, filter };
  });
  return parts.every((boost, i) => boost === boosts.parts[i]) ? boosts : { ...boosts, parts };
}

/** Texts of the boosts in use. */
const texts = new WeakMap<Boosts, string>();

export function boostsToText(boosts: Boosts): string {
  let text = texts.get(boosts);
  if (text === undefined) texts.set(boosts, (text = JSON.stringify(boosts)));
  return text;
}

/** The last boosts read: the shards of a node get the same ones after another. */
let last: { text: string; boosts: Boosts } | null = null;

/** null for text that is none. */
export function boostsFromText(text: string): Boosts | null {
  if (last?.text === text) return last.boosts;
  const boosts = parsedBoosts(text);
  if (boosts !== null) last = { text, boosts };
  return boosts;
}

function parsedBoosts(text: string): Boosts | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const { mode, parts } = (json ?? {}) as Partial<Record<keyof Boosts, unknown>>;
  if (!isOneOf(BOOST_MODES, mode) || !Array.isArray(parts) || parts.length === 0) return null;
  const boosts = parts.map(boostOf);
  return boosts.every((boost) => boost !== null) ? { mode, parts: boosts } : null;
}

function boostOf(json: unknown): Boost | null {
  const given = (json ?? {}) as Record<string, unknown>;
  const { type, path, weight, missing } = given;
  if (!isFinite(weight)) return null;
  if (type === 'filter') {
    const filter = filterFromJson(given.filter);
    return filter === undefined ? null : { type, filter, weight };
  }
  if (typeof path !== 'string' || !(missing === null || isFinite(missing))) return null;
  if (type === 'field')
    return isOneOf(BOOST_MODIFIERS, given.modifier) ? { type, path, modifier: given.modifier, weight, missing } : null;
  const { shape, origin, scale, offset, at } = given;
  if (type !== 'decay' || !isOneOf(DECAY_SHAPES, shape) || !isOrigin(origin)) return null;
  if (!isFinite(scale) || !isFinite(offset) || !isFinite(at)) return null;
  return { type, path, shape, origin, scale, offset, at, weight, missing };
}

function isOneOf<Name extends string>(names: readonly Name[], value: unknown): value is Name {
  return names.includes(value as Name);
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isOrigin(value: unknown): value is DecayOrigin {
  if (typeof value !== 'object' || value === null) return isFinite(value);
  const { time, lat, lon } = value as Record<string, unknown>;
  return isFinite(time) || (isFinite(lat) && isFinite(lon));
}

/** Of each item the number of each boost, as they are sent; null for text that is none. */
export function boostNumbersFromText(text: string): (number[] | null)[] | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const isOfItem = (one: unknown): one is number[] | null =>
    one === null || (Array.isArray(one) && one.every(isFinite));
  return Array.isArray(json) && json.every(isOfItem) ? json : null;
}
