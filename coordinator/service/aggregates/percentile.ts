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
  const ask = async (low: number, high: number): Promise<Spread> => {
    const answers = await asking.ask(filter, { type: 'spread', path, low, high });
    return answers.every(({ values }) => values !== null) ? listed(answers) : parted(answers, low, high);
  };
  // All of them begin with the whole.
  const whole = range.min < range.max ? await ask(range.min, range.max) : null;
  return Promise.all(percents.map((percent) => percentileOf(ask, percent, range, whole)));
}

async function percentileOf(
  ask: (low: number, high: number) => Promise<Spread>,
  percent: number,
  { count, min }: Range,
  whole: Spread | null,
): Promise<number> {
  let place = Math.max(1, Math.ceil((percent * count) / 100));
  let low = min;
  for (let spread = whole; spread !== null;) {
    // Where something was deleted meanwhile there may be fewer.
    const found = spread.counts.find(([, own]) => (place -= own) <= 0) ?? spread.counts.at(-1);
    if (found === undefined) return low;
    place += found[1];
    const range = spread.rangeOf(found[0]);
    low = range.low;
    spread = low < range.high ? await ask(low, range.high) : null;
  }
  return low;
}

/** How numbers are spread. */
interface Spread {
  /** Numbers, or parts of their range, in order, and how many there are. */
  counts: [key: number, count: number][];
  /** The least and the most that such a part may have. */
  rangeOf(key: number): { low: number; high: number };
}

/** Each number by itself. */
function listed(answers: AnswersTo<'spread'>): Spread {
  const counts = new Map<number, number>();
  for (const { values, counts: own } of answers)
    for (const [i, value] of values!.entries()) counts.set(value, (counts.get(value) ?? 0) + own[i]);
  return { counts: inOrder(counts), rangeOf: (value) => ({ low: value, high: value }) };
}

function parted(answers: AnswersTo<'spread'>, low: number, high: number): Spread {
  const [first, last, shift] = [numberRank(low), numberRank(high), spreadShift(low, high)];
  const counts = new Map<number, number>();
  for (const { values, counts: own } of answers)
    for (const [i, count] of own.entries()) {
      if (count === 0) continue;
      const part = values === null ? i : Number((numberRank(values[i]) - first) >> shift);
      counts.set(part, (counts.get(part) ?? 0) + count);
    }
  const rangeOf = (part: number): { low: number; high: number } => {
    const from = first + (BigInt(part) << shift);
    const to = from + (1n << shift) - 1n;
    return { low: numberOfRank(from), high: numberOfRank(to < last ? to : last) };
  };
  return { counts: inOrder(counts), rangeOf };
}

function inOrder(counts: ReadonlyMap<number, number>): [key: number, count: number][] {
  return [...counts].sort(([a], [b]) => a - b);
}
