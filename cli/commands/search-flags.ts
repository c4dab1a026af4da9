import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { HybridSearchRequest, SearchRequest } from '../../clients/typescript/src/api';
import { CommandError, EXIT_CODES } from '../command-error';
import { SEARCH_OPTIONS } from '../generated/search-options';
import { filtered, names, wholeNumber } from './connected-command';

type Options = typeof SEARCH_OPTIONS;
type Name = keyof Options;
type Kind = Options[Name]['kind'];
/** What a request of any of the command's searches may hold besides what to search for. */
export type SearchBody = Partial<Pick<SearchRequest & HybridSearchRequest, Name>>;
type OrderKey = NonNullable<SearchBody['order_by']>[number];

/** The searches of the command, as they are told apart. */
export type SearchKind = 'plain' | 'hybrid' | 'item';
const TOLD_APART: Record<SearchKind, string> = {
  plain: 'a text or --vector alone',
  hybrid: '--hybrid',
  item: '--item',
};

/** A flag in a form, or in words, of its own. */
interface OwnFlag<Each extends Name> {
  flags: string;
  says: string;
  /** `before`: what the same flag gave before. */
  parse?: (text: string, before: never) => unknown;
  byDefault?: SearchBody[Each];
  /** What the request has; left out: what was parsed. */
  sent?: (given: never) => SearchBody[Each];
}

/** Options whose flag can't be made of what the service says of them. */
type Unmade = {
  [Each in Name]: Options[Each] extends { kind: 'other' } | { says: '' } ? Each : never;
}[Name];

const K_DEFAULT = 10;
const K_MAX = 10_000;
const NEIGHBOURS_MAX = 10;

/** null: other flags of the command say it. */
const OWN: { [Each in Unmade]: OwnFlag<Each> | null } & { [Each in Name]?: OwnFlag<Each> | null } = {
  mode: { flags: '--mode <mode>', says: 'keyword, by words alone; vector; or hybrid, as --hybrid' },
  positives: {
    flags: '--positives <ids>',
    says: 'items that the hits are to be like (together, where there are several)',
    parse: names,
    sent: examplesOf,
  },
  negatives: {
    flags: '--negatives <ids>',
    says: 'items that the hits are to be unlike',
    parse: names,
    sent: examplesOf,
  },
  strategy: { flags: '--strategy <how>', says: 'how examples count: average (default), or best_score' },
  legs: {
    flags: '--legs <json>',
    says: 'lists that become one, such as \'[{"text": "a", "weight": 2}, {"query_text": "b"}]\', or @file',
    parse: legsArgument,
  },
  match: { flags: '--match <words>', says: 'how many words a hit has: any, all, 0.75 of them', parse: matchArgument },
  query_syntax: { flags: '--syntax <syntax>', says: 'simple has +must, -not, title:word, begins*, near~, "phrase"~2' },
  fuzzy: {
    flags: '--fuzzy <edits>',
    says: 'words that are unknown stand for near ones: 0, 1, 2 or auto',
    parse: fuzzyArgument,
  },
  field_weights: {
    flags: '--field-weights <paths>',
    says: 'how much keyword fields count: "title:3, text:1"',
    parse: fieldWeightsArgument,
  },
  fusion: {
    flags: '--fusion <kind>',
    says: 'how both lists become one: rrf, rrf:20 (its constant), relative, dbsf, linear',
    parse: fusionArgument,
  },
  prefix_last: { flags: '--prefix-last', says: 'the last word may be a beginning' },
  k: { flags: '-k, --k <count>', says: 'how many', parse: wholeNumber(1, K_MAX), byDefault: K_DEFAULT },
  offset: { flags: '--offset <count>', says: 'leave out the best so many', parse: wholeNumber(0, K_MAX) },
  cursor: {
    flags: '--cursor <cursor>',
    says: 'pages that continue each other: "first", then what the page before printed',
  },
  filters: null,
  fields: { flags: '--fields <names>', says: 'metadata to show; otherwise all', parse: names },
  highlight: {
    flags: '--highlight [paths]',
    says: 'show where the words were found: in the text, or in these fields',
    parse: (text: string, before?: string[] | true) => names(text, before === true ? [] : before),
    sent: (paths: string[] | true) => ({ ...(paths !== true && { fields: paths }), pre: '[', post: ']' }),
  },
  rerank: {
    flags: '--rerank [model]',
    says: 'a model reads the best hits, and orders them anew; left out: the server’s first',
    parse: (text: string) => text,
    sent: (model: string | true) => (model === true ? {} : { model }),
  },
  group_by: {
    flags: '--group-by <path>',
    says: 'the best groups of items that have the same value there; --k counts groups',
  },
  group_missing: { flags: '--group-missing <how>', says: 'items without a value there (default: leave_out)' },
  diversity: {
    flags: '--diversity <how>',
    says:
      'hits that differ: 0.7 of 1 by relevance, the rest by their vectors, or author:2, so many with a value at ' +
      'most',
    parse: diversityArgument,
  },
  boosts: {
    flags: '--boosts <json>',
    says: 'change scores, by a list as the service takes it: [{"field": "likes", "modifier": "log1p", "weight": 0.2}]',
    parse: boostsArgument,
  },
  boost_mode: { flags: '--boost-mode <mode>', says: 'how they change them: multiply (default), or add' },
  order_by: {
    flags: '--order-by <paths>',
    says: 'order the hits by values of these fields: "year desc, title"',
    parse: orderArgument,
  },
  total: { flags: '--total', says: 'count all items that pass the filter, too, exactly' },
  expand: {
    flags: '--expand <chunks>',
    says: 'show the text of so many chunks before and after, too, of the same document',
    parse: wholeNumber(0, NEIGHBOURS_MAX),
    sent: (chunks: number) => ({ before: chunks, after: chunks }),
  },
  include_text: { flags: '--show-text', says: 'show the items’ texts, too' },
  include_timing: null,
};

const ARGUMENTS: Record<Kind, string> = {
  boolean: '',
  integer: ' <count>',
  number: ' <number>',
  string: ' <text>',
  texts: ' <names>',
  choice: ' <how>',
  other: ' <value>',
};
const PARSERS: Partial<Record<Kind, (text: string) => unknown>> = {
  integer: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  number: finiteNumber,
  texts: names,
};

const NAMES = Object.keys(SEARCH_OPTIONS) as Name[];
const FLAGS = new Map(NAMES.filter((name) => OWN[name] !== null).map((name) => [name, flagOf(name)]));

function flagOf(name: Name): Option {
  const own: OwnFlag<Name> | null | undefined = OWN[name];
  const known = SEARCH_OPTIONS[name];
  const flags = own?.flags ?? `--${name.replaceAll('_', '-')}${ARGUMENTS[known.kind]}`;
  const says = own?.says ?? known.says;
  const only = onlyOf(name);
  const option = new Option(flags, only === null ? says : `of ${toldApart(only)}: ${says}`);
  const parse = own?.parse ?? PARSERS[known.kind];
  if (parse !== undefined) option.argParser(parse as (text: string, before: unknown) => unknown);
  if (own?.parse === undefined && 'choices' in known) option.choices(known.choices);
  if (own?.byDefault !== undefined) option.default(own.byDefault);
  return option;
}

/** The searches that have an option; null: all. */
function onlyOf(name: Name): readonly SearchKind[] | null {
  const known = SEARCH_OPTIONS[name];
  return 'only' in known ? known.only : null;
}

function toldApart(searches: readonly SearchKind[]): string {
  return searches.map((kind) => TOLD_APART[kind]).join(' or ');
}

/** Gives a command a flag for each option of searches. */
export function searchFlags(command: Command): Command {
  for (const name of NAMES) {
    if (name === 'filters') filtered(command, 'only items whose metadata match');
    const flag = FLAGS.get(name);
    if (flag !== undefined) command.addOption(flag);
  }
  return command;
}

/** The options of a search that were given, without filters. CommandError for one that this search does not have. */
export function optionsGiven(given: object, search: SearchKind): SearchBody {
  const values = new Map(Object.entries(given));
  const fields = [...FLAGS].flatMap(([name, flag]) => {
    const value: unknown = values.get(flag.attributeName());
    if (value === undefined) return [];
    const only = onlyOf(name);
    if (only !== null && !only.includes(search))
      throw new CommandError(`${flag.long} is for ${toldApart(only)}`, EXIT_CODES.usage);
    const sent = OWN[name]?.sent as ((value: unknown) => unknown) | undefined;
    return [[name, sent === undefined ? value : sent(value)]];
  });
  return Object.fromEntries(fields) as SearchBody;
}

export function finiteNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number.');
  return number;
}

/** Paths with "asc" or "desc" behind them, separated by commas. */
function orderArgument(text: string): OrderKey[] {
  return names(text).map((part) => {
    const [, path = part, direction = 'asc'] = /^(.*\S)\s+(asc|desc)$/i.exec(part) ?? [];
    return { field: path, direction: direction.toLowerCase() as 'asc' | 'desc' };
  });
}

function examplesOf(ids: string[]): { id: string }[] {
  return ids.map((id) => ({ id }));
}

function diversityArgument(text: string): SearchBody['diversity'] {
  const lambda = Number(text);
  if (text.trim() !== '' && lambda >= 0 && lambda <= 1) return { lambda };
  const [, field, most] = /^(.+):(\d+)$/.exec(text) ?? [];
  if (field === undefined)
    throw new InvalidArgumentError('It must be a number from 0 to 1, or a path with a whole number, as in author:2.');
  return { field, at_most: Number(most) };
}

function legsArgument(text: string): SearchBody['legs'] {
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON, or @ and a file of it: ${(error as Error).message}.`);
  }
  if (!Array.isArray(value)) throw new InvalidArgumentError('It must be a list of legs.');
  return value as SearchBody['legs'];
}

function boostsArgument(text: string): SearchBody['boosts'] {
  try {
    const boosts: unknown = JSON.parse(text);
    if (Array.isArray(boosts)) return boosts as SearchBody['boosts'];
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError('It must be a JSON array, as in [{"filters": {"kind": "news"}, "weight": 1.5}].');
}

function fusionArgument(text: string): SearchBody['fusion'] {
  const [, kind, constant] = /^(rrf|relative|dbsf|linear)(?::(\d+))?$/.exec(text) ?? [];
  if (kind === undefined || (constant !== undefined && kind !== 'rrf'))
    throw new InvalidArgumentError('It must be rrf, rrf with a constant as in rrf:20, relative, dbsf or linear.');
  return constant === undefined ? (kind as 'rrf') : { kind: 'rrf', constant: Number(constant) };
}

function matchArgument(text: string): 'any' | 'all' | { at_least: number } {
  if (text === 'any' || text === 'all') return text;
  const share = Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('It must be any, all, or a number above 0 up to 1.');
  return { at_least: share };
}

function fieldWeightsArgument(text: string): Record<string, number> {
  const parts = names(text).map((part) => /^(.+):(\d+)$/.exec(part));
  if (parts.length === 0 || parts.includes(null))
    throw new InvalidArgumentError('It must be paths with whole numbers, as in title:3, text:1.');
  return Object.fromEntries(parts.map((part) => [part![1], Number(part![2])]));
}

function fuzzyArgument(text: string): 0 | 1 | 2 | 'auto' {
  if (text === 'auto') return text;
  if (!/^[012]$/.test(text)) throw new InvalidArgumentError('It must be 0, 1, 2 or auto.');
  return Number(text) as 0 | 1 | 2;
}
