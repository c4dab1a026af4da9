import type { Filter } from '../../../shared/contract/filter/filter';
import { numberOfRank, numberRank, spreadShift } from '../../../shared/contract/shard/number-rank';
import type { AnswersTo, Asking } from './shard-questions';

/** The numbers that are counted. */
interface Range {
  count: number;
  min: number;
  max: number;
}

/**
 * For each of `percents` the least number that so many of 100 numbers don't exceed: one of them, exactly. The shards
 * count how the numbers are spread; then the part that has the one which is looked for is spread in turn, until its
 * numbers are few enough to be sent. null: there is none.
 */
export async function percentilesOf(
  asking: Asking,
  filter: Filter | null,
  path: string,
  percents: readonly number[],
  range: Range,
): Promise<(number | null)[]> {
  if (range.count === 0 || percents.length === 0) return percents.map(() => null);
  const ask = (low: number, high: number): Promise<AnswersTo<'spread'>> =>
    asking.ask(filter, { type: 'spread', path, low, high });
  // All of them begin with the whole.
  const whole = range.min < range.max ? await ask(range.min, range.max) : [];
  return Promise.all(percents.map((percent) => percentileOf(ask, percent, range, whole)));
}

async function percentileOf(
  ask: (low: number, high: number) => Promise<AnswersTo<'spread'>>,
  percent: number,
  { count, min, max }: Range,
  whole: AnswersTo<'spread'>,
): Promise<number> {
  let [low, high] = [min, max];
  let answers = whole;
  let place = Math.max(1, Math.ceil((percent * count) / 100));
  while (low < high) {
    const parts = answers.every(({ values }) => values !== null) ? listed(answers) : spread(answers, low, high);
    // Where something was deleted meanwhile there may be fewer.
    const found = parts.find((part) => (place -= part.count) <= 0) ?? parts.at(-1);
    if (found === undefined) return low;
    place += found.count;
    [low, high] = [found.low, found.high];
    if (low < high) answers = await ask(low, high);
  }
  return low;
}

interface Part {
  low: number;
  high: number;
  count: number;
}

/** Each number by itself, in order. */
function listed(answers: AnswersTo<'spread'>): Part[] {
  const counts = new Map<number, number>();
  for (const { values, counts: own } of answers)
    for (const [i, value] of values!.entries()) counts.set(value, (counts.get(value) ?? 0) + own[i]);
  return [...counts].sort(([a], [b]) => a - b).map(([value, count]) => ({ low: value, high: value, count }));
}

function spread(answers: AnswersTo<'spread'>, low: number, high: number): Part[] {
  const [first, last, shift] = [numberRank(low), numberRank(high), spreadShift(low, high)];
  const counts = new Map<number, number>();
  for (const { values, counts: own } of answers)
    for (const [i, count] of own.entries()) {
      const part = values === null ? i : Number((numberRank(values[i]) - first) >> shift);
      if (count > 0) counts.set(part, (counts.get(part) ?? 0) + count);
    }
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([part, count]) => {
      const from = first + (BigInt(part) << shift);
      const to = from + (1n << shift) - 1n;
      return { low: numberOfRank(from), high: numberOfRank(to < last ? to : last), count };
    });
}
