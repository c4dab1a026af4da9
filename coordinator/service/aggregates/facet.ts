import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter, Scalar } from '../../../shared/contract/filter/filter';
import { compareScalars } from '../../../shared/contract/shard/aggregate';
import type { FacetRequest, FacetView } from '../aggregates-service';
import type { AnswersTo, Asking } from './shard-questions';

/** Values that a shard sends of a field at first: nearly always all. */
const SENT_MAX = 10_000;
/** Distinct values of a field in one shard that can be ordered. */
const ORDERED_MAX = 1_000_000;
/** Bytes of values that are asked for by name. */
const NAMED_BYTES_MAX = 1024 * 1024;
/** Values in a share of all: so many fit into an answer, mostly. */
const SHARE_VALUES = 4_000;

interface Counted {
  value: Scalar;
  count: number;
}

/**
 * The first values of a field with their counts, exactly. A shard sends all values or, of very many, the most frequent
 * ones and the greatest count of the others: then the values that may yet be among the first are asked for by name. If
 * even one that no shard has sent may be, all values are gone through in shares by their hashes. Errors: limit_exceeded
 * for too many values.
 */
export async function facetOf(
  asking: Asking,
  filter: Filter | null,
  { field: path, limit, order, prefix }: FacetRequest,
): Promise<FacetView> {
  const sent = order === 'value' || asking.shards === 1 ? limit + 1 : Math.max(SENT_MAX, limit + 1);
  const first = await asking.ask(filter, { type: 'values', path, order, limit: sent, prefix, share: null });
  for (const { distinct } of first)
    if (distinct > ORDERED_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `the field ${JSON.stringify(path)} has ${distinct} distinct values in a shard, more than the maximum of ${ORDERED_MAX} to order by`,
      );
  const found =
    order === 'value' ? byValue(first, sent, path) : await byCount(asking, filter, path, prefix, limit, first);
  return {
    field: path,
    values: found.slice(0, limit),
    more: found.length > limit,
    missing: first.reduce((sum, { items, present }) => sum + items - present, 0),
  };
}

/** A shard that has one of the first values has it among its own first ones. */
function byValue(answers: AnswersTo<'values'>, sent: number, path: string): Counted[] {
  const sums = sorted(summed(answers), inValueOrder);
  // Of values that take much room a shard may have sent fewer.
  const ends = answers.flatMap(({ values, bound }) => (bound > 0 && values.length < sent ? [values.at(-1)!] : []));
  const known = sums.findIndex(({ value }) => ends.some((end) => compareScalars(value, end) > 0));
  if (known < 0 || known >= sent) return sums;
  throw new QuiverError(
    'limit_exceeded',
    `values of the field ${JSON.stringify(path)} are too long for ${sent - 1} of them in one answer: ask for fewer`,
  );
}

async function byCount(
  asking: Asking,
  filter: Filter | null,
  path: string,
  prefix: string | null,
  limit: number,
  first: AnswersTo<'values'>,
): Promise<Counted[]> {
  const sums = sorted(summed(first), inCountOrder);
  const unseen = first.reduce((sum, { bound }) => sum + bound, 0);
  if (unseen === 0 || first.length === 1) return sums;
  // What no shard has sent may be among the first only with so much.
  const last = sums[limit]?.count ?? 0;
  if (unseen >= last) return inShares(asking, filter, path, prefix, limit, first);
  const partly = first.filter(({ bound }) => bound > 0).map(({ values, bound }) => ({ sent: new Set(values), bound }));
  const candidates = sums.filter(({ value, count }) => {
    const hidden = partly.reduce((sum, { sent, bound }) => sum + (sent.has(value) ? 0 : bound), 0);
    return count + hidden >= last;
  });
  const values = candidates.map(({ value }) => value);
  if (bytesOf(values) > NAMED_BYTES_MAX) return inShares(asking, filter, path, prefix, limit, first);
  const counts = await asking.ask(filter, { type: 'counts', path, values });
  const exact = values.map((value, i) => ({ value, count: counts.reduce((sum, one) => sum + one.counts[i], 0) }));
  return sorted(exact, inCountOrder);
}

/** All values of a field, some at a time. */
async function inShares(
  asking: Asking,
  filter: Filter | null,
  path: string,
  prefix: string | null,
  limit: number,
  first: AnswersTo<'values'>,
): Promise<Counted[]> {
  const most = first.reduce((max, { distinct }) => Math.max(max, distinct), 1);
  const of = Math.ceil(most / SHARE_VALUES);
  const open = Array.from({ length: of }, (_, index) => ({ of, index }));
  let best: Counted[] = [];
  for (let share = open.pop(); share !== undefined; share = open.pop()) {
    const answers = await asking.ask(filter, { type: 'values', path, order: 'count', limit: SENT_MAX, prefix, share });
    if (answers.some(({ bound }) => bound > 0)) {
      // One share is two of twice as many.
      open.push({ of: share.of * 2, index: share.index }, { of: share.of * 2, index: share.index + share.of });
      continue;
    }
    best = sorted([...best, ...summed(answers)], inCountOrder).slice(0, limit + 1);
  }
  return best;
}

function summed(answers: AnswersTo<'values'>): Counted[] {
  const sums = new Map<Scalar, number>();
  for (const { values, counts } of answers)
    for (const [i, value] of values.entries()) sums.set(value, (sums.get(value) ?? 0) + counts[i]);
  return Array.from(sums, ([value, count]) => ({ value, count })).filter(({ count }) => count > 0);
}

function sorted(counted: Counted[], order: (a: Counted, b: Counted) => number): Counted[] {
  return counted.filter(({ count }) => count > 0).sort(order);
}

function inValueOrder(a: Counted, b: Counted): number {
  return compareScalars(a.value, b.value);
}

function inCountOrder(a: Counted, b: Counted): number {
  return b.count - a.count || compareScalars(a.value, b.value);
}

function bytesOf(values: Scalar[]): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? 3 * value.length + 16 : 32), 0);
}
