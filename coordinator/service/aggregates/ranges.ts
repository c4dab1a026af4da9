import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { RangesRequest, RangeView } from '../aggregates-service';
import { calendarEdges, ZoneClock } from './calendar';
import type { Asking } from './shard-questions';
import { type Counted, numbersOf, type NumberTotals } from './statistics';

/** Buckets of one list. */
export const BUCKETS_MAX = 10_000;

/**
 * How many items are in each bucket of a field, also the empty ones between; an item with several values in one counts
 * once there. `place`: of the request, in messages. `isGroup`: without numbers, it has no buckets. Errors:
 * limit_exceeded for too many buckets, schema_violation where the field has values of another kind alone.
 */
export async function rangesOf(
  asking: Asking,
  filter: Filter | null,
  { field: path, buckets }: RangesRequest,
  { place, isGroup }: Counted,
): Promise<RangeView> {
  const clock = buckets.type === 'calendar' ? new ZoneClock(buckets.timeZone) : null;
  const edges =
    buckets.type === 'edges'
      ? buckets.edges
      : buckets.type === 'interval'
        ? await intervalEdges(asking, filter, path, buckets.interval, { place, isGroup })
        : await inSlices(datedEdges(await timesOf(asking, filter, path), buckets.unit, clock!, place));
  if (edges.length < 2) return { field: path, buckets: [] };
  const answers = await asking.ask(filter, { type: 'buckets', path, edges, times: clock !== null });
  const shown = clock === null ? edges : await inSlices(textsOf(edges, clock));
  return {
    field: path,
    buckets: shown.slice(0, -1).map((from, i) => ({
      from,
      to: shown[i + 1],
      count: answers.reduce((sum, { counts }) => sum + counts[i], 0),
    })),
  };
}

async function intervalEdges(
  asking: Asking,
  filter: Filter | null,
  path: string,
  interval: number,
  { place, isGroup }: Counted,
): Promise<number[]> {
  const { count, others, min, max } = await numbersOf(asking, filter, path, false);
  if (!isGroup) checkRanges({ count, others }, path, place);
  if (count === 0) return [];
  const [first, last] = [Math.floor(min / interval), Math.floor(max / interval)];
  if (!(last - first < BUCKETS_MAX)) throw tooMany(place, 'interval');
  const edges = Array.from({ length: last - first + 2 }, (_, i) => multiple(first + i, interval));
  if (edges.some((edge, i) => !Number.isFinite(edge) || (i > 0 && edge <= edges[i - 1])))
    throw new QuiverError('invalid_parameter', `${place}.interval: is too small or too large for numbers of that size`);
  // What rounding moved over an edge is moved back.
  if (min < edges[0]) edges.unshift(multiple(first - 1, interval));
  if (max >= edges.at(-1)!) edges.push(multiple(last + 2, interval));
  if (edges.length > 2 && min >= edges[1]) edges.shift();
  if (edges.length > 2 && max < edges.at(-2)!) edges.pop();
  return edges;
}

/** Errors: schema_violation where intervals of numbers are asked for, and there are other values alone. */
export function checkRanges(
  { count, others }: Pick<NumberTotals, 'count' | 'others'>,
  path: string,
  place: string,
): void {
  if (count === 0 && others > 0)
    throw new QuiverError(
      'schema_violation',
      `${place}.field: the values of ${JSON.stringify(path)} are no numbers; of texts with dates there is "calendar"`,
    );
}

/** As people write it: three times 0.1 is 0.3, and a value of 0.3 is not below it. */
function multiple(times: number, interval: number): number {
  const product = times * interval;
  if (Number.isInteger(interval)) return product;
  const short = Number(product.toPrecision(15));
  return Math.abs(short - product) <= Math.abs(product) * 2 * Number.EPSILON ? short : product;
}

async function timesOf(asking: Asking, filter: Filter | null, path: string): Promise<[number, number] | null> {
  const answers = await asking.ask(filter, { type: 'times', path });
  const ranges = answers.flatMap(({ range }) => (range === null ? [] : [range]));
  if (ranges.length === 0) return null;
  return [Math.min(...ranges.map(([first]) => first)), Math.max(...ranges.map(([, last]) => last))];
}

function* datedEdges(
  range: [number, number] | null,
  unit: Parameters<typeof calendarEdges>[0],
  clock: ZoneClock,
  place: string,
): Generator<undefined, number[]> {
  const edges: number[] = [];
  if (range === null) return edges;
  for (const edge of calendarEdges(unit, clock, ...range)) {
    edges.push(edge);
    if (edges.length > BUCKETS_MAX + 1) throw tooMany(place, 'calendar');
    yield;
  }
  return edges;
}

function* textsOf(edges: number[], clock: ZoneClock): Generator<undefined, string[]> {
  const texts: string[] = [];
  for (const edge of edges) {
    texts.push(clock.text(edge));
    yield;
  }
  return texts;
}

function tooMany(place: string, what: string): QuiverError {
  return new QuiverError(
    'limit_exceeded',
    `${place}.${what}: from the first value to the last there are more than ${BUCKETS_MAX} buckets: take longer ones, or filter`,
  );
}
