import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { QuiverCollection } from '../../clients/typescript/src/collection';
import type { SearchRequest } from '../../clients/typescript/src/api';
import type { SearchProfile } from '../../clients/typescript/src/generated/api-types';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, outputWidth, printJson } from '../terminal/print';
import { table } from '../terminal/table';
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

type OrderKey = NonNullable<SearchRequest['order_by']>[number];

interface SearchOptions extends ConnectionOptions, FilterOptions {
  text?: string;
  vector?: number[] | string;
  item?: string;
  hybrid?: number | true;
  match?: 'any' | 'all' | { at_least: number };
  syntax?: 'plain' | 'simple';
  fuzzy?: '0' | '1' | '2' | 'auto';
  prefixLast?: true;
  k: number;
  offset?: number;
  exact?: true;
  fields?: string[];
  groupBy?: string;
  groupSize?: number;
  groupMissing?: 'leave_out' | 'each';
  orderBy?: OrderKey[];
  total?: true;
  expand?: number;
  showText?: true;
  highlight?: string[] | true;
  showProfile?: true;
  json?: true;
}

interface Hit {
  external_id: string;
  score: number;
  metadata: Record<string, unknown>;
  text?: string | null;
  context?: { text: string } | null;
  highlights?: { text: string }[];
}

interface Found {
  results: Hit[];
  groups?: { key: unknown; hits: Hit[] }[];
  total_matches?: number;
  profile?: SearchProfile;
}

const K_MAX = 10_000;
const GROUP_SIZE_MAX = 100;
const NEIGHBOURS_MAX = 10;
const DEFAULT_ALPHA = 0.5;
/** In which a profile divides the time. */
const STEPS = ['wait', 'parse', 'route', 'embed', 'queue', 'shards', 'merge', 'other'] as const;

export function addSearchCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('search')
      .description('find the items of a collection that are nearest to a text, a vector or an item')
      .argument('<collection>')
      .argument('[text...]', 'a text, as --text'),
  )
    .option('--text <text>', 'a text; the service makes its vector')
    .option(
      '--vector <numbers>',
      'a vector: "[0.1, 0.2]", base64 of little-endian float32, or @file with either',
      vectorArgument,
    )
    .option('--item <id>', 'items like a stored one')
    .option(
      '--hybrid [alpha]',
      'by meaning and words together; 1 is the vector alone, 0 the words alone (default: 0.5)',
      alphaArgument,
    )
    .option('--match <words>', 'of --hybrid: how many words a hit has: any, all, 0.75 of them', matchArgument)
    .addOption(
      new Option(
        '--syntax <syntax>',
        'of --hybrid; simple: +must, -not, title:word, begins*, near~, "phrase"~2',
      ).choices(['plain', 'simple']),
    )
    .addOption(
      new Option('--fuzzy <edits>', 'of --hybrid: words that are unknown stand for near ones').choices([
        '0',
        '1',
        '2',
        'auto',
      ]),
    )
    .option('--prefix-last', 'of --hybrid: the last word may be a beginning')
    .option('-k, --k <count>', 'how many', wholeNumber(1, K_MAX), 10)
    .option('--offset <count>', 'leave out the best so many', wholeNumber(0, K_MAX))
    .option('--exact', 'compare with every vector');
  filtered(command, 'only items whose metadata match')
    .option('--fields <names>', 'metadata to show; otherwise all', names)
    .option('--group-by <path>', 'the best groups of items that have the same value there; --k counts groups')
    .option('--group-size <count>', 'hits of each group (default: 1)', wholeNumber(1, GROUP_SIZE_MAX))
    .addOption(
      new Option(
        '--group-missing <how>',
        'items without it are left out, or each is a group (default: leave_out)',
      ).choices(['leave_out', 'each']),
    )
    .option('--order-by <paths>', 'order the hits by values of these fields: "year desc, title"', orderArgument)
    .option('--total', 'count all items that pass the filter, too, exactly')
    .option(
      '--expand <chunks>',
      'show the text of so many chunks before and after, too, of the same document',
      wholeNumber(0, NEIGHBOURS_MAX),
    )
    .option('--show-text', 'show the items’ texts, too')
    .option('--highlight [paths]', 'show where the words were found: in the text, or in these fields', names)
    .option('--show-profile', 'show where the time went, step by step and shard by shard')
    .option('--json', 'print JSON')
    .action(async (name: string, words: string[], options: SearchOptions) => {
      if (words.length > 0 && options.text !== undefined)
        throw new CommandError('say the text once: behind the collection, or with --text', EXIT_CODES.usage);
      await search(context, name, words.length === 0 ? options : { ...options, text: words.join(' ') });
    });
}

async function search(context: CommandContext, name: string, options: SearchOptions): Promise<void> {
  const { text, vector, item, hybrid, k, offset, exact } = options;
  const filter = filterOf(options);
  const given = [text, vector, item].filter((value) => value !== undefined).length;
  if (given !== 1 && !(hybrid !== undefined && text !== undefined && item === undefined))
    throw new CommandError(
      'say what to search for: a text, --vector or --item (with --hybrid and a text, also --vector)',
      EXIT_CODES.usage,
    );
  const { match, syntax, fuzzy, prefixLast } = options;
  if (hybrid === undefined && [match, syntax, fuzzy, prefixLast].some((one) => one !== undefined))
    throw new CommandError('--match, --syntax, --fuzzy and --prefix-last need --hybrid', EXIT_CODES.usage);
  if (hybrid !== undefined && text === undefined)
    throw new CommandError('--hybrid needs a text: the words to find', EXIT_CODES.usage);
  const collection = connect(context, options).client.collection(name);
  const common = {
    k,
    ...(offset !== undefined && { offset }),
    ...(filter !== undefined && { filters: filter as never }),
    ...(exact !== undefined && { exact }),
    ...(options.fields !== undefined && { fields: options.fields }),
    ...(options.showText !== undefined && { include_text: true }),
    ...(options.groupBy !== undefined && { group_by: options.groupBy }),
    ...(options.groupSize !== undefined && { group_size: options.groupSize }),
    ...(options.groupMissing !== undefined && { group_missing: options.groupMissing }),
    ...(options.orderBy !== undefined && { order_by: options.orderBy }),
    ...(options.total !== undefined && { total: true }),
    ...(options.expand !== undefined && { expand: { before: options.expand, after: options.expand } }),
    ...(options.highlight !== undefined && {
      highlight: { ...(options.highlight !== true && { fields: options.highlight }), pre: '[', post: ']' },
    }),
    ...(options.showProfile !== undefined && { profile: true }),
  };
  const answer: Found = await (item !== undefined
    ? likeItem(collection, item, common)
    : hybrid !== undefined
      ? collection.hybridSearch({
          query_text: text!,
          vector,
          alpha: hybrid === true ? DEFAULT_ALPHA : hybrid,
          ...(match !== undefined && { match }),
          ...(syntax !== undefined && { query_syntax: syntax }),
          ...(fuzzy !== undefined && { fuzzy: fuzzy === 'auto' ? fuzzy : (Number(fuzzy) as 0 | 1 | 2) }),
          ...(prefixLast !== undefined && { prefix_last: prefixLast }),
          ...common,
        })
      : collection.search({ ...(vector === undefined ? { text } : { vector }), ...common }));
  if (options.json) return printJson(context, answer);
  // A group's hits have its place and its key.
  const rows = answer.groups
    ? answer.groups.flatMap(({ key, hits }, i) => hits.map((hit) => ({ place: i, key, hit })))
    : answer.results.map((hit, i) => ({ place: i, key: undefined, hit }));
  if (rows.length === 0) context.messages.write('nothing was found\n');
  const shown = rows.map(({ place, key, hit }) => [
    (offset ?? 0) + place + 1,
    ...(answer.groups === undefined ? [] : [cell(key)]),
    Number(hit.score.toFixed(4)),
    hit.external_id,
    ...(options.fields ?? []).map((field) => cell(valueAt(hit.metadata, field))),
    ...(options.fields === undefined ? [cell(hit.metadata)] : []),
    ...(options.showText ? [hit.text ?? null] : []),
    ...(options.highlight === undefined ? [] : [hit.highlights?.map((part) => part.text).join(' … ') ?? null]),
    ...(options.expand === undefined ? [] : [hit.context?.text ?? null]),
  ]);
  const columns = [
    '#',
    ...(answer.groups === undefined ? [] : [options.groupBy!]),
    'score',
    'id',
    ...(options.fields ?? ['metadata']),
    ...(options.showText ? ['text'] : []),
    ...(options.highlight === undefined ? [] : ['found']),
    ...(options.expand === undefined ? [] : ['context']),
  ];
  const width = outputWidth(context);
  context.output.write(table(columns, shown, width));
  if (answer.total_matches !== undefined) context.messages.write(`total: ${count(answer.total_matches)}\n`);
  if (answer.profile !== undefined) context.output.write(`\n${profileText(answer.profile, width)}`);
}

/**
 * The value under a path of metadata, of which a key that equals the rest of the path has precedence over one that its
 * first dot ends.
 */
function valueAt(metadata: unknown, path: string): unknown {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return undefined;
  if (Object.hasOwn(metadata, path)) return (metadata as Record<string, unknown>)[path];
  const dot = path.indexOf('.');
  return dot < 0 ? undefined : valueAt((metadata as Record<string, unknown>)[path.slice(0, dot)], path.slice(dot + 1));
}

/** Items like a stored one. An id that no address can hold is looked up, and its vector searched for. */
async function likeItem(
  collection: QuiverCollection,
  item: string,
  common: Omit<SearchRequest, 'text' | 'vector'> & { k: number; profile?: boolean },
): Promise<Found> {
  if (item !== '.' && item !== '..') return collection.recommend(item, common);
  const [stored] = await collection.fetch([item]);
  if (stored?.vector === undefined) throw new CommandError(`there is no item "${item}"`, EXIT_CODES.notFound);
  if (common.group_by !== undefined || common.order_by !== undefined)
    throw new CommandError('items like one with this id can’t be grouped or ordered', EXIT_CODES.usage);
  const { offset = 0, k } = common;
  const answer = await collection.search({
    ...common,
    vector: stored.vector,
    k: Math.min(K_MAX, k + offset + 1),
    offset: 0,
  });
  const results = (answer.results as Hit[]).filter(({ external_id: id }) => id !== item);
  return { ...answer, results: results.slice(offset, offset + k) };
}

/** The parts of a search's time that it had, and a line for each call of a shard. */
function profileText(profile: SearchProfile, width: number): string {
  const parts = STEPS.filter((step) => profile[`${step}_ms`] > 0).map(
    (step) => `${step} ${shownMs(profile[`${step}_ms`])}`,
  );
  const calls = profile.shards.map((call) => [
    call.read,
    call.shard,
    call.node ?? call.place,
    shownMs(call.total_ms),
    call.wait_ms === null ? null : shownMs(call.wait_ms),
    call.run_ms === null ? null : shownMs(call.run_ms),
    call.plan,
    call.candidates,
    call.scored,
    call.rescored,
  ]);
  const head = `${shownMs(profile.total_ms)} ms: ${parts.join(', ')}\n`;
  return `${head}${table(['read', 'shard', 'at', 'ms', 'waited', 'ran', 'plan', 'candidates', 'scored', 'rescored'], calls, width)}`;
}

function shownMs(ms: number): number {
  return Number(ms.toFixed(2));
}

function cell(value: unknown): string | null {
  return value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);
}

function vectorArgument(argument: string): number[] | string {
  const text = (argument.startsWith('@') ? fileText(argument.slice(1)) : argument).trim();
  if (!/^[[\d-]/.test(text) || !/[,\s]/.test(text)) return text;
  const numbers = text
    .replaceAll(/[[\]]/g, '')
    .split(/[,\s]+/)
    .filter((part) => part !== '')
    .map(Number);
  if (!numbers.every(Number.isFinite))
    throw new InvalidArgumentError('It must be numbers, or base64 of float32 values.');
  return numbers;
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

/** Paths with "asc" or "desc" behind them, separated by commas. */
function orderArgument(text: string): OrderKey[] {
  return names(text).map((part) => {
    const [, path = part, direction = 'asc'] = /^(.*\S)\s+(asc|desc)$/i.exec(part) ?? [];
    return { field: path, direction: direction.toLowerCase() as 'asc' | 'desc' };
  });
}

function alphaArgument(text: string): number {
  const alpha = Number(text);
  if (!(alpha >= 0 && alpha <= 1)) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return alpha;
}

function matchArgument(text: string): 'any' | 'all' | { at_least: number } {
  if (text === 'any' || text === 'all') return text;
  const share = Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('It must be any, all, or a number above 0 up to 1.');
  return { at_least: share };
}
