import {
  type Boost,
  type BoostMode,
  type BoostModifier,
  type Boosts,
  type DecayOrigin,
  type DecayShape,
  numberOfFilter,
} from '../../../shared/contract/shard/boosts';
import { isInLists } from './filter-needs';
import { filterProgram } from './filter-program';
import { FilterWords } from './filter-words';
import { conditionsIn } from './prepared-filters';

/** What a boost looks at, and what it makes of that, as node/engine/native/filter/boost_values.h numbers it. */
const KIND = { filter: 0, number: 1, time: 2, place: 3 } as const;
const MODES: Readonly<Record<BoostMode, number>> = { multiply: 0, add: 1 };
const SHAPES: Readonly<Record<BoostModifier | DecayShape, number>> = {
  none: 0,
  log1p: 1,
  sqrt: 2,
  square: 3,
  reciprocal: 4,
  exp: 5,
  gauss: 6,
  linear: 7,
};

/** A filter of more conditions takes long to pass on; what it takes to evaluate one is judged by the addon. */
export const CONDITIONS_MAX = 64;

/** Boosts in the addon's form; null: lists do not tell what they look at. */
export function boostProgram({ mode, parts }: Boosts): Uint32Array | null {
  const words = new FilterWords();
  words.word(MODES[mode]);
  for (const boost of parts) if (!write(mode, boost, words)) return null;
  return words.words.subarray(0, words.length);
}

function write(mode: BoostMode, boost: Boost, words: FilterWords): boolean {
  if (boost.type === 'filter') {
    const { filter } = boost;
    if (conditionsIn(filter) > CONDITIONS_MAX || !isInLists(filter)) return false;
    words.word(KIND.filter);
    for (const passes of [true, false]) words.number(numberOfFilter(mode, boost, passes));
    const program = filterProgram(filter);
    words.word(program.length);
    for (const word of program) words.word(word);
    return true;
  }
  words.word(boost.type === 'field' ? KIND.number : kindOf(boost.origin));
  words.word(SHAPES[boost.type === 'field' ? boost.modifier : boost.shape]);
  words.number(boost.weight);
  words.number(boost.missing ?? NaN);
  if (boost.type === 'decay') {
    for (const coordinate of coordinatesOf(boost.origin)) words.number(coordinate);
    for (const number of [boost.scale, boost.offset, boost.at]) words.number(number);
  }
  words.wideText(boost.path);
  return true;
}

function kindOf(origin: DecayOrigin): number {
  if (typeof origin === 'number') return KIND.number;
  return 'time' in origin ? KIND.time : KIND.place;
}

function coordinatesOf(origin: DecayOrigin): [number, number] {
  if (typeof origin === 'number') return [origin, 0];
  return 'time' in origin ? [origin.time, 0] : [origin.lat, origin.lon];
}
