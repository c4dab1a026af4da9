import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { QuiverCollection } from '../../clients/typescript/src/collection';
import type { SearchProfile, WhyReport } from '../../clients/typescript/src/generated/api-types';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, outputWidth, printJson } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, filterOf, type FilterOptions } from './connected-command';
import { type SearchBody, optionsGiven, searchFlags } from './search-flags';

/** What was given, as far as it is not only sent. */
interface SearchOptions extends ConnectionOptions, FilterOptions {
  text?: string;
  vector?: number[] | string;
  item?: string;
  positives?: string[];
  hybrid?: number | true;
  mode?: string;
  legs?: unknown[];
  offset?: number;
  fields?: string[];
  groupBy?: string;
  expand?: number;
  showText?: true;
  highlight?: string[] | true;
  showProfile?: true;
  why?: string;
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
  next_cursor?: string | null;
  profile?: SearchProfile;
}

/** Fields of a hit that have columns of their own; others have one if any hit has them. */
const COLUMNS = new Set(['external_id', 'score', 'metadata', 'text', 'highlights', 'context']);
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
    );
  searchFlags(command)
    .option('--why <id>', 'say why the search does not find this item')
    .option('--show-profile', 'show where the time went, step by step and shard by shard')
    .option('--json', 'print JSON')
    .action(async (name: string, words: string[], options: SearchOptions) => {
      if (words.length > 0 && options.text !== undefined)
        throw new CommandError('say the text once: behind the collection, or with --text', EXIT_CODES.usage);
      await search(context, name, words.length === 0 ? options : { ...options, text: words.join(' ') });
    });
}

async function search(context: CommandContext, name: string, options: SearchOptions): Promise<void> {
  const { text, vector, item, offset } = options;
  const { legs } = options;
  const hybrid = options.hybrid ?? (options.mode === undefined && legs === undefined ? undefined : true);
  const filter = filterOf(options);
  const given = [text, vector, item].filter((value) => value !== undefined).length;
  const isByExamples = given === 0 && options.positives !== undefined;
  if (legs !== undefined && (given > 0 || isByExamples || options.hybrid !== undefined))
    throw new CommandError(
      '--legs says what to search for: give no text, --vector, --item or --hybrid',
      EXIT_CODES.usage,
    );
  if (
    legs === undefined &&
    given !== 1 &&
    !isByExamples &&
    !(hybrid !== undefined && text !== undefined && item === undefined)
  )
    throw new CommandError(
      'say what to search for: a text, --vector, --item or --positives; or --legs (with --hybrid also text and ' +
        '--vector)',
      EXIT_CODES.usage,
    );
  if (hybrid !== undefined && text === undefined && legs === undefined)
    throw new CommandError('--hybrid needs a text: the words to find', EXIT_CODES.usage);
  const collection = connect(context, options).client.collection(name);
  const common = {
    ...optionsGiven(options, item !== undefined ? 'item' : hybrid !== undefined ? 'hybrid' : 'plain'),
    ...(filter !== undefined && { filters: filter as never }),
    ...(options.showProfile !== undefined && { profile: true }),
  };
  const alpha = typeof hybrid === 'number' ? hybrid : DEFAULT_ALPHA;
  // What it searches for is among the options.
  const hybridBody = legs === undefined ? { query_text: text ?? '', vector, alpha } : {};
  const nearest = isByExamples ? {} : vector === undefined ? { text } : { vector };
  if (options.why !== undefined) {
    if (item !== undefined) throw new CommandError('--why is for searches by a text or a vector', EXIT_CODES.usage);
    const { profile: _profile, ...asked } = common as SearchBody & { profile?: boolean };
    const report = await collection.why(options.why, { ...(hybrid === undefined ? nearest : hybridBody), ...asked });
    return options.json ? printJson(context, report) : printWhy(context, report);
  }
  const answer: Found = await (item !== undefined
    ? likeItem(collection, item, common)
    : hybrid !== undefined
      ? collection.hybridSearch({ ...hybridBody, ...common })
      : collection.search({ ...nearest, ...common }));
  if (options.json) return printJson(context, answer);
  // A group's hits have its place and its key.
  const rows = answer.groups
    ? answer.groups.flatMap(({ key, hits }, i) => hits.map((hit) => ({ place: i, key, hit })))
    : answer.results.map((hit, i) => ({ place: i, key: undefined, hit }));
  if (rows.length === 0) context.messages.write('nothing was found\n');
  const others = [...new Set(rows.flatMap(({ hit }) => Object.keys(hit)))].filter((field) => !COLUMNS.has(field));
  const shown = rows.map(({ place, key, hit }) => [
    (offset ?? 0) + place + 1,
    ...(answer.groups === undefined ? [] : [cell(key)]),
    Number(hit.score.toFixed(4)),
    hit.external_id,
    ...others.map((field) => cell((hit as unknown as Record<string, unknown>)[field])),
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
    ...others,
    ...(options.fields ?? ['metadata']),
    ...(options.showText ? ['text'] : []),
    ...(options.highlight === undefined ? [] : ['found']),
    ...(options.expand === undefined ? [] : ['context']),
  ];
  const width = outputWidth(context);
  context.output.write(table(columns, shown, width));
  if (answer.total_matches !== undefined) context.messages.write(`total: ${count(answer.total_matches)}\n`);
  if (answer.next_cursor) context.messages.write(`more: --cursor ${answer.next_cursor}\n`);
  if (answer.profile !== undefined) context.output.write(`\n${profileText(answer.profile, width)}`);
}

function printWhy(context: CommandContext, { because, conditions, legs }: WhyReport): void {
  context.output.write(`${because}\n`);
  if (conditions.length > 0) {
    const rows = conditions.map(({ condition, passes }) => [JSON.stringify(condition), passes ? 'yes' : 'no']);
    context.output.write(table(['condition', 'passes'], rows, outputWidth(context)));
  }
  const rows = legs.map(({ leg, score, exact_rank: exact, rank, depth }) => [
    leg,
    score === null ? null : Number(score.toFixed(4)),
    exact,
    rank,
    depth,
  ]);
  if (rows.length > 0)
    context.output.write(table(['list', 'score', 'exact rank', 'rank', 'depth'], rows, outputWidth(context)));
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

/** Items like a stored one. An id that no address can hold is an example of a search. */
async function likeItem(
  collection: QuiverCollection,
  item: string,
  common: SearchBody & { profile?: boolean },
): Promise<Found> {
  if (item !== '.' && item !== '..') return collection.recommend(item, common);
  return collection.search({ ...common, positives: [{ id: item }, ...(common.positives ?? [])] });
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
  // One number is a vector of one dimension.
  const isList = text.startsWith('[') || /^[\d-].*[,\s]/s.test(text) || (text !== '' && Number.isFinite(Number(text)));
  if (!isList) return text;
  const numbers = text
    .replaceAll(/[[\]]/g, '')
    .split(/[,\s]+/)
    .filter((part) => part !== '')
    .map(Number);
  if (numbers.length === 0 || !numbers.every(Number.isFinite))
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

function alphaArgument(text: string): number {
  const alpha = Number(text);
  if (!(alpha >= 0 && alpha <= 1)) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return alpha;
}
