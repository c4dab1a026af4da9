import { z } from 'zod';
import { type FilterBounds, isOfNow } from '../../../shared/contract/filter/parse-filter';
import { timeFromNow, timeOfText } from '../../../shared/contract/filter/time-of-text';
import {
  type Boost,
  BOOST_MODES,
  BOOST_MODIFIERS,
  type Boosts,
  DECAY_SHAPES,
  type DecayOrigin,
  FACTORS,
} from '../../../shared/contract/shard/boosts';
import { boundedArray, filters, optional, withDefault } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { REQUEST_BOUNDS } from '../requests/http-limits';

const AT_DEFAULT = 0.5;
const MILLISECONDS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const METRES: Readonly<Record<string, number>> = { m: 1, km: 1_000 };
const LENGTH = /^(\d{1,12}(?:\.\d{1,6})?) ?(s|m|h|d|w|km)$/;

const path = z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax);
const length = z.union([z.number(), z.string()]);
const missing = optional(z.number());

const decay = z.object({
  shape: withDefault(z.enum(DECAY_SHAPES), 'exp').meta({
    description: 'With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x.',
  }),
  origin: z.union([z.number(), z.string(), z.object({ lat: z.number(), lon: z.number() })]).meta({
    description:
      'A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place.',
  }),
  scale: length.meta({
    description:
      'Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km".',
  }),
  offset: optional(length).meta({ description: 'Up to there it is 1. As scale; default 0.' }),
  at: withDefault(z.number(), AT_DEFAULT).meta({ description: 'Between 0 and 1.' }),
});

type GivenDecay = z.output<typeof decay>;

/** A boost as a request gives it. */
function boost(bounds: FilterBounds) {
  return z
    .object({
      filters: filters(bounds),
      field: optional(path).meta({
        description: 'A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest.',
      }),
      modifier: optional(z.enum(BOOST_MODIFIERS)).meta({
        description: 'Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0.',
      }),
      decay: optional(decay).meta({
        description: 'Instead of modifier: how near a value is to an origin, from 1 to 0.',
      }),
      weight: z.number().meta({
        description: `With filters: what those that pass get; multiplied, at least ${FACTORS.least}.`,
      }),
      missing: missing.meta({
        description: 'The number, or with decay the decay, of items that have none; left out: they get nothing.',
      }),
    })
    .transform((given, context): Boost | typeof z.NEVER => boostOf(given, context) ?? z.NEVER);
}

interface GivenBoost {
  filters: Extract<Boost, { type: 'filter' }>['filter'] | null;
  field?: string | undefined;
  modifier?: (typeof BOOST_MODIFIERS)[number] | undefined;
  decay?: GivenDecay | undefined;
  weight: number;
  missing?: number | undefined;
}

function boostOf(given: GivenBoost, sink: IssueSink): Boost | null {
  const { filters: filter, field, modifier, weight, missing: absent = null } = given;
  const refuse = (message: string, ...at: string[]): null => {
    report(sink, given, message, { path: at });
    return null;
  };
  if ((filter === null) === (field === undefined)) {
    report(sink, given, 'must have filters that restrict something, or field', { wanted: ['filters', 'field'] });
    return null;
  }
  if (filter !== null) {
    for (const name of ['modifier', 'decay', 'missing'] as const)
      if (given[name] !== undefined) return refuse('is of a field, and can’t be beside filters', name);
    return { type: 'filter', filter, weight };
  }
  if (given.decay === undefined)
    return { type: 'field', path: field!, modifier: modifier ?? 'none', weight, missing: absent };
  if (modifier !== undefined) return refuse('can’t be beside decay', 'modifier');
  if (absent !== null && !(absent >= 0 && absent <= 1)) return refuse('is a decay, and must be from 0 to 1', 'missing');
  return decayOf(field!, given.decay, weight, absent, refuse);
}

function decayOf(
  field: string,
  { shape, origin: given, scale, offset = 0, at }: GivenDecay,
  weight: number,
  absent: number | null,
  refuse: (message: string, ...at: string[]) => null,
): Boost | null {
  if (!(at > 0 && at < 1)) return refuse('must be between 0 and 1', 'decay', 'at');
  const origin = originOf(given);
  if (typeof origin === 'string') return refuse(origin, 'decay', 'origin');
  const { of, lengthOf } = unitsOf(origin);
  const [width, start] = [lengthOf(scale), lengthOf(offset)];
  if (width === null || !(width > 0)) return refuse(`must be ${of}, more than 0`, 'decay', 'scale');
  if (start === null || !(start >= 0)) return refuse(`must be ${of}, at least 0`, 'decay', 'offset');
  const made: Boost = {
    type: 'decay',
    path: field,
    shape,
    origin,
    scale: width,
    offset: start,
    at,
    weight,
    missing: absent,
  };
  if (typeof given === 'string' && timeOfText(given) === null) OF_NOW.add(made);
  return made;
}

const OF_NOW = new WeakSet<Boost>();

/** Whether a boost that was parsed has a date from now, so that the same text is another boost later. */
export function isBoostOfNow(boost: Boost): boolean {
  return boost.type === 'filter' ? isOfNow(boost.filter) : OF_NOW.has(boost);
}

/** A text says what is wrong. */
function originOf(given: GivenDecay['origin']): DecayOrigin | string {
  if (typeof given === 'number') return given;
  if (typeof given === 'string') {
    const time = timeOfText(given) ?? timeFromNow(given, Date.now());
    return time === null ? 'must be a number, a date such as "2024-02-01", "now", "now-7d" or {lat, lon}' : { time };
  }
  const { lat, lon } = given;
  const isPlace = Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
  return isPlace ? { lat, lon } : 'must have a lat from −90 to 90 and a lon from −180 to 180';
}

/** How lengths are given that belong to an origin; null: not so. */
function unitsOf(origin: DecayOrigin): { of: string; lengthOf: (given: number | string) => number | null } {
  if (typeof origin === 'number')
    return { of: 'a number', lengthOf: (given) => (typeof given === 'number' ? given : null) };
  if ('time' in origin)
    return {
      of: 'a time such as "7d" or "12h" (s, m, h, d, w)',
      // Nothing is nothing in any unit.
      lengthOf: (given) => (given === 0 ? 0 : typeof given === 'number' ? null : inUnits(given, MILLISECONDS)),
    };
  return {
    of: 'metres, or a length such as "5km" or "500m"',
    lengthOf: (given) => (typeof given === 'number' ? given : inUnits(given, METRES)),
  };
}

function inUnits(text: string, units: Readonly<Record<string, number>>): number | null {
  const found = LENGTH.exec(text);
  const unit = found === null ? undefined : units[found[2]];
  return unit === undefined ? null : Number(found![1]) * unit;
}

/** The options by which a search changes scores. */
export function boostShape(bounds: FilterBounds) {
  return {
    boosts: optional(boundedArray(boost(bounds), REQUEST_BOUNDS.boostsMax)).meta({
      description:
        'Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ' +
        '({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ' +
        '({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, ' +
        'not the best of a list without them. Lists that are fused are ordered by boosted scores before.',
    }),
    boost_mode: optional(z.enum(BOOST_MODES)).meta({
      description:
        'multiply (default): filters give the factor weight, the others 1 + weight × their number, from ' +
        `${FACTORS.least} on, and 1 where there is none; a score is multiplied by all factors, or divided if it is ` +
        'below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their ' +
        'number, and 0 where there is none; all are added to the score.',
    }),
  };
}

/** Reports what a mode can't do with boosts, and a mode without any. */
export function checkBoosts(boosts: Boosts | undefined, given: { boost_mode?: unknown }, sink: IssueSink): void {
  if (boosts === undefined) {
    if (given.boost_mode !== undefined)
      report(sink, given, 'needs boosts', { kind: 'invalid_parameter', path: ['boost_mode'] });
    return;
  }
  for (const [i, one] of boosts.parts.entries())
    if (boosts.mode === 'multiply' && one.type === 'filter' && one.weight < FACTORS.least)
      report(
        sink,
        given,
        `multiplies, and must be at least ${FACTORS.least}; below 1 it puts items back, and boost_mode "add" takes any`,
        { path: ['boosts', i, 'weight'] },
      );
}
