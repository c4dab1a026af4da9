import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AggregateRequest } from '../../clients/typescript/src/api';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { aggregateTables } from '../terminal/aggregate-tables';
import { count, outputWidth, printJson } from '../terminal/print';
import {
  type ConnectionOptions,
  connect,
  connected,
  filtered,
  filterOf,
  type FilterOptions,
  names,
  wholeNumber,
} from './connected-command';

type Ranges = NonNullable<AggregateRequest['ranges']>[number];
type Stats = NonNullable<AggregateRequest['stats']>[number];
type Ops = NonNullable<Stats['ops']>;

interface AggregateOptions extends ConnectionOptions, FilterOptions {
  facet?: string[];
  order?: 'count' | 'value';
  prefix?: string;
  ownFilter: boolean;
  stats?: string[];
  ops?: Ops;
  range?: Ranges[];
  timeZone?: string;
  by?: string[];
  limit?: number;
  over?: string;
  k?: number;
  json?: true;
}

const OPS = ['min', 'max', 'sum', 'avg', 'count', 'distinct', 'p50', 'p99'];
const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute'];
const VALUES_MAX = 1000;
const K_MAX = 10_000;

/** Counts of what is in a collection. */
export function addAggregateCommands(program: Command, context: CommandContext): void {
  const counting = connected(
    program.command('count').description('count the items of a collection, exactly').argument('<collection>'),
  );
  filtered(counting, 'only items whose metadata match')
    .option('--json', 'print JSON')
    .action(async (name: string, options: ConnectionOptions & FilterOptions & { json?: true }) => {
      const filters = filterOf(options);
      const found = await connect(context, options)
        .client.collection(name)
        .count(filters === undefined ? {} : { filters });
      if (options.json) printJson(context, { count: found });
      else context.output.write(`${found}\n`);
    });

  const command = connected(
    program
      .command('aggregate')
      .description('count the values of a collection: facets, ranges, statistics, of all or by groups')
      .argument('<collection>'),
  )
    .option('--facet <paths>', 'the most frequent values of these fields', names)
    .addOption(
      new Option('--order <how>', 'order of the values of facets (default: count)').choices(['count', 'value']),
    )
    .option('--prefix <text>', 'only values of facets that begin so')
    .addOption(new Option('--no-own-filter', 'count a facet as if the filter had no conditions on its field'))
    .option('--stats <paths>', 'statistics of these fields', names)
    .option('--ops <names>', `which: ${OPS.join(', ')} (default: the first five)`, opsArgument)
    .option(
      '--range <path=buckets>',
      `items in ranges: price=0,10,100 by edges, price=10 by intervals, published=month by a calendar (${UNITS.join(', ')}); may be repeated`,
      rangeArgument,
    )
    .option('--time-zone <name>', 'of calendars, such as "Europe/Berlin"; otherwise UTC')
    .option(
      '--by <paths>',
      'all that for each of the most frequent values of a field, or of two, one in the other',
      names,
    )
    .option('--limit <count>', 'values of a facet (default: 20), and groups (default: 10)', wholeNumber(1, VALUES_MAX));
  filtered(command, 'only items whose metadata match')
    .option('--over <text>', 'of the best hits for this text instead of all items')
    .option('-k, --k <count>', 'how many hits (default: 100)', wholeNumber(1, K_MAX))
    .option('--json', 'print JSON')
    .action(async (name: string, options: AggregateOptions) => aggregate(context, name, options));
}

async function aggregate(context: CommandContext, name: string, options: AggregateOptions): Promise<void> {
  const answer = await connect(context, options).client.collection(name).aggregate(requestOf(options));
  if (options.json) return printJson(context, answer);
  const { tables, notes } = aggregateTables(answer, outputWidth(context));
  context.output.write(tables.join('\n'));
  for (const note of notes) context.messages.write(`${note}\n`);
  if (answer.hits !== undefined) context.messages.write(`of the ${count(answer.hits)} best hits\n`);
}

function requestOf(options: AggregateOptions): AggregateRequest {
  const {
    facet = [],
    stats = [],
    range = [],
    by = [],
    limit,
    over,
    k,
    ops,
    prefix,
    order,
    timeZone,
    ownFilter,
  } = options;
  if (by.length > 2) throw new CommandError('--by takes one field, or two', EXIT_CODES.usage);
  if (facet.length + stats.length + range.length + by.length === 0)
    throw new CommandError('say what to count: --facet, --stats, --range or --by', EXIT_CODES.usage);
  const needs: [isGiven: boolean, option: string, needed: string, isThere: boolean][] = [
    [k !== undefined, '-k', '--over', over !== undefined],
    [ops !== undefined, '--ops', '--stats', stats.length > 0],
    [order !== undefined, '--order', '--facet', facet.length > 0],
    [prefix !== undefined, '--prefix', '--facet', facet.length > 0],
    [!ownFilter, '--no-own-filter', '--facet', facet.length > 0],
    [timeZone !== undefined, '--time-zone', 'a --range by a calendar', range.some((one) => one.calendar !== undefined)],
  ];
  for (const [isGiven, option, needed, isThere] of needs)
    if (isGiven && !isThere) throw new CommandError(`${option} needs ${needed}`, EXIT_CODES.usage);
  const limited = limit === undefined ? {} : { limit };
  const lists = {
    ...(facet.length > 0 && {
      facets: facet.map((field) => ({
        field,
        ...limited,
        ...(order !== undefined && { order }),
        ...(prefix !== undefined && { prefix }),
        ...(!ownFilter && { own_filter: false }),
      })),
    }),
    ...(stats.length > 0 && { stats: stats.map((field): Stats => ({ field, ...(ops !== undefined && { ops }) })) }),
    ...(range.length > 0 && {
      ranges: range.map((one) =>
        one.calendar === undefined || timeZone === undefined ? one : { ...one, time_zone: timeZone },
      ),
    }),
  };
  const [outer, inner] = by;
  const filters = filterOf(options);
  return {
    ...(filters !== undefined && { filters: filters as AggregateRequest['filters'] }),
    ...(over !== undefined && { over: { text: over, ...(k !== undefined && { k }) } }),
    ...(outer === undefined
      ? lists
      : {
          by: {
            field: outer,
            ...limited,
            ...(inner === undefined ? lists : { by: { field: inner, ...limited, ...lists } }),
          },
        }),
  } as AggregateRequest;
}

function opsArgument(text: string): Ops {
  const ops = names(text);
  const unknown = ops.find((one) => !OPS.includes(one));
  if (unknown !== undefined || ops.length === 0) throw new InvalidArgumentError(`It must be of ${OPS.join(', ')}.`);
  return ops as Ops;
}

/** What follows the last "=" says the buckets: a path may have that character. */
function rangeArgument(text: string, before: Ranges[] = []): Ranges[] {
  const at = text.lastIndexOf('=');
  const field = text.slice(0, Math.max(0, at));
  const buckets = text.slice(at + 1).trim();
  if (field === '' || buckets === '')
    throw new InvalidArgumentError('It must be a field and its buckets, such as price=0,10,100.');
  if (UNITS.includes(buckets)) return [...before, { field, calendar: buckets as NonNullable<Ranges['calendar']> }];
  const numbers = buckets.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (!numbers.every(Number.isFinite))
    throw new InvalidArgumentError(`Buckets must be numbers, or one of ${UNITS.join(', ')}.`);
  return [...before, numbers.length === 1 ? { field, interval: numbers[0] } : { field, edges: numbers }];
}
