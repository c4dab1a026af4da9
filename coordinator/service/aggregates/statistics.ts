import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import { DISTINCT_MAX, REGISTER_BITS } from '../../../shared/contract/shard/aggregate';
import { numberOfWhole } from '../../../shared/contract/shard/exact-number';
import { noteHash } from '../../../shared/contract/shard/hyper-log-log';
import type { Statistic, StatsRequest, StatsView } from '../aggregates-service';
import { estimate, STANDARD_ERROR } from './distinct-estimate';
import { percentilesOf } from './percentile';
import type { AnswersTo, Asking } from './shard-questions';

/** The statistics that say something of numbers alone. */
const OF_NUMBERS: ReadonlySet<Statistic> = new Set(['min', 'max', 'sum', 'avg', 'p50', 'p99']);
const PERCENTS = { p50: 50, p99: 99 } as const;
const HASH_BYTES = 16;

/** The numbers of a field over all shards. */
export interface NumberTotals {
  count: number;
  others: number;
  min: number;
  max: number;
  /** In units (exact-number.ts). */
  sum: bigint;
}

export async function numbersOf(
  asking: Asking,
  filter: Filter | null,
  path: string,
  withSum: boolean,
): Promise<NumberTotals> {
  const answers = await asking.ask(filter, { type: 'numbers', path, sum: withSum });
  const some = answers.filter(({ count }) => count > 0);
  return {
    count: some.reduce((sum, { count }) => sum + count, 0),
    others: answers.reduce((sum, { others }) => sum + others, 0),
    min: some.reduce((least, { min }) => Math.min(least, min), Infinity),
    max: some.reduce((most, { max }) => Math.max(most, max), -Infinity),
    sum: some.reduce((sum, answer) => sum + BigInt(answer.sum ?? 0), 0n),
  };
}

/** Where something is counted: at a place of the request, of all items that pass the filter or of a group of them. */
export interface Counted {
  place: string;
  isGroup: boolean;
}

/**
 * The statistics of a field: of its numbers; count and distinct of all values but null. `place`: of the request, in
 * messages. `isGroup`: where it has no numbers, there are no statistics of them. Errors: schema_violation where numbers
 * are asked for, and there are other values alone.
 */
export async function statsOf(
  asking: Asking,
  filter: Filter | null,
  { field: path, ops }: StatsRequest,
  { place, isGroup }: Counted,
): Promise<StatsView> {
  const asks = (op: Statistic): boolean => ops.includes(op);
  const [numbers, distinct] = await Promise.all([
    numbersOf(asking, filter, path, asks('sum') || asks('avg')),
    asks('distinct') ? asking.ask(filter, { type: 'distinct', path, hashes: asking.shards > 1 }) : null,
  ]);
  const { count, others, min, max, sum } = numbers;
  if (!isGroup) checkStats(numbers, { field: path, ops }, place);
  const view: StatsView = { field: path, notNumbers: others, distinctError: null };
  const sums = { count: count + others, min: orNull(min), max: orNull(max), sum: orNull(numberOfWhole(sum)) };
  for (const op of ops) {
    if (op === 'count' || op === 'min' || op === 'max' || op === 'sum') view[op] = sums[op];
    if (op === 'avg') view.avg = count === 0 ? null : numberOfWhole(sum, BigInt(count));
  }
  if (distinct !== null) {
    const { estimated, exact } = distinctOf(distinct);
    view.distinct = exact ?? estimated;
    view.distinctError = exact === null ? STANDARD_ERROR : null;
  }
  const asked = (['p50', 'p99'] as const).filter(asks);
  const percents = asked.map((op) => PERCENTS[op]);
  for (const [i, percentile] of (await percentilesOf(asking, filter, path, percents, numbers)).entries())
    view[asked[i]] = percentile;
  return view;
}

/** Whether some of them are statistics of numbers alone. */
export function areOfNumbers(ops: readonly Statistic[]): boolean {
  return ops.some((op) => OF_NUMBERS.has(op));
}

/** Errors: schema_violation where statistics of numbers are asked for, and there are other values alone. */
export function checkStats({ count, others }: NumberTotals, { field: path, ops }: StatsRequest, place: string): void {
  if (count === 0 && others > 0 && areOfNumbers(ops))
    throw new QuiverError(
      'schema_violation',
      `${place}.field: the values of ${JSON.stringify(path)} are no numbers; of others there are "count" and "distinct"`,
    );
}

/** JSON has no infinity. */
function orNull(number: number): number | null {
  return Number.isFinite(number) ? number : null;
}

function distinctOf(answers: AnswersTo<'distinct'>): { exact: number | null; estimated: number } {
  const some = answers.filter(({ count }) => count > 0);
  if (some.length <= 1 && (some[0]?.count ?? 0) <= DISTINCT_MAX) return { exact: some[0]?.count ?? 0, estimated: 0 };
  const hashes = some.flatMap(({ hashes: text }) => hashesIn(text ?? ''));
  if (some.every(({ registers }) => registers === null)) {
    const known = new Set(hashes.map((hash) => hash.toString('latin1')));
    if (known.size <= DISTINCT_MAX) return { exact: known.size, estimated: 0 };
  }
  const all = new Uint8Array(2 ** REGISTER_BITS);
  for (const { registers } of some)
    if (registers !== null)
      for (const [i, register] of Buffer.from(registers, 'base64').entries()) if (register > all[i]) all[i] = register;
  for (const hash of hashes) noteHash(all, hash);
  return { exact: null, estimated: estimate(all) };
}

function hashesIn(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'base64');
  const hashes: Buffer[] = [];
  for (let at = 0; at + HASH_BYTES <= bytes.length; at += HASH_BYTES) hashes.push(bytes.subarray(at, at + HASH_BYTES));
  return hashes;
}
