import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { optionsGiven, searchFlags } from '../../../../cli/commands/search-flags';
import { SEARCH_OPTIONS } from '../../../../cli/generated/search-options';
import { type PlainServer, startPlainServer } from '../../../support/servers/plain-server';

/** `quiver search` has a flag for each option of the service's searches: they are written from the OpenAPI document. */

const root = resolve(__dirname, '../../../..');
const { searchOptionFlags } = require(resolve(root, 'scripts/make/search-option-flags.cjs')) as {
  searchOptionFlags(document: object): string;
};
const FILE = resolve(root, 'cli/generated/search-options.ts');

interface Document {
  paths: Record<string, { post: { requestBody: { content: Record<string, { schema: Body }> } } }>;
}

interface Body {
  properties: Record<string, object>;
}

let server: PlainServer;
let document: Document;

beforeAll(async () => {
  server = await startPlainServer();
  document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as Document;
});
afterAll(() => server.stop());

function given(...words: string[]): object {
  const command = searchFlags(new Command()).exitOverride();
  command.configureOutput({ writeErr: () => undefined }).parse(words, { from: 'user' });
  return command.opts();
}

test('the options are those of the OpenAPI document', () => {
  const text = searchOptionFlags(document);
  if (process.env.UPDATE === '1') writeFileSync(FILE, text);
  expect(readFileSync(FILE, 'utf8')).toBe(text);
});

test('an option that the service gets is known, with what it says of it and the searches that have it', () => {
  const later = structuredClone(document);
  const { properties } =
    later.paths['/v1/collections/{name}/search'].post.requestBody.content['application/json'].schema;
  properties.max_age = { type: 'integer', description: "Seconds of a hit's age. Older ones are left out." };
  properties.near = { anyOf: [{ type: 'array', items: { type: 'number' } }, { type: 'null' }] };
  expect(searchOptionFlags(later)).toContain(`
  max_age: { kind: 'integer', says: 'seconds of a hit\\'s age', only: ['plain'] },
  near: { kind: 'other', says: '', only: ['plain'] },
`);
});

test('flags give what was said as the service takes it', () => {
  expect(optionsGiven(given(), 'plain')).toEqual({ k: 10 });
  const flags = '-k 3 --offset 1 --exact --fields a,b --fields c --total --show-text --expand 2';
  expect(optionsGiven(given(...flags.split(' ')), 'item')).toEqual({
    k: 3,
    offset: 1,
    exact: true,
    fields: ['a', 'b', 'c'],
    total: true,
    include_text: true,
    expand: { before: 2, after: 2 },
  });
  const grouped = ['--group-by', 'a', '--group-size', '2', '--group-missing', 'each', '--order-by', 'a desc,b'];
  expect(optionsGiven(given(...grouped, '--explain'), 'hybrid')).toEqual({
    k: 10,
    group_by: 'a',
    group_size: 2,
    group_missing: 'each',
    order_by: [
      { field: 'a', direction: 'desc' },
      { field: 'b', direction: 'asc' },
    ],
    explain: true,
  });
  const words = [
    '--match',
    '0.75',
    '--syntax',
    'simple',
    '--fuzzy',
    '2',
    '--prefix-last',
    '--field-weights',
    'a.b:3, text:0',
  ];
  expect(optionsGiven(given(...words, '--highlight', 'a', '--highlight', 'b,c'), 'hybrid')).toEqual({
    k: 10,
    match: { at_least: 0.75 },
    query_syntax: 'simple',
    fuzzy: 2,
    prefix_last: true,
    field_weights: { 'a.b': 3, text: 0 },
    highlight: { fields: ['a', 'b', 'c'], pre: '[', post: ']' },
  });
  expect(optionsGiven(given('--diversity', '0.7', '--positives', 'a,b'), 'item')).toEqual({
    k: 10,
    diversity: { lambda: 0.7 },
    positives: [{ id: 'a' }, { id: 'b' }],
  });
  expect(optionsGiven(given('--diversity', 'by.name:2'), 'plain')).toEqual({
    k: 10,
    diversity: { field: 'by.name', at_most: 2 },
  });
  const fusion = (text: string): object => optionsGiven(given('--fusion', text, '--score-scale', 'unit'), 'hybrid');
  expect(fusion('dbsf')).toEqual({ k: 10, fusion: 'dbsf', score_scale: 'unit' });
  expect(fusion('rrf:20')).toEqual({ k: 10, fusion: { kind: 'rrf', constant: 20 }, score_scale: 'unit' });
  expect(optionsGiven(given('--highlight', '--match', 'all', '--fuzzy', 'auto'), 'hybrid')).toEqual({
    k: 10,
    match: 'all',
    fuzzy: 'auto',
    highlight: { pre: '[', post: ']' },
  });
});

test('each option has a flag, but for timings; one that a search does not have is refused', () => {
  const { options } = searchFlags(new Command());
  expect(options).toHaveLength(Object.keys(SEARCH_OPTIONS).length);
  const numbers = Object.entries(SEARCH_OPTIONS).filter(([, { kind }]) => kind === 'number');
  expect(numbers).not.toEqual([]);
  for (const [name] of numbers) {
    const flag = `--${name.replaceAll('_', '-')}`;
    expect(optionsGiven(given(flag, '-0.5'), 'plain')).toEqual({ k: 10, [name]: -0.5 });
    expect(() => given(flag, 'much')).toThrow('It must be a number');
  }
  expect(() => optionsGiven(given('--fusion', 'rrf'), 'item')).toThrow('--fusion is for --hybrid');
  const legs = [{ text: 'a', weight: 2 }, { query_text: 'b' }];
  expect(optionsGiven(given('--legs', JSON.stringify(legs)), 'hybrid')).toEqual({ k: 10, legs });
  expect(() => given('--legs', '{')).toThrow('It must be JSON');
  expect(() => given('--legs', '{}')).toThrow('It must be a list of legs');
  expect(() => given('--legs', '@/nowhere/legs.json')).toThrow('It must be JSON, or @ and a file of it');
  expect(() => given('--diversity', 'author')).toThrow('It must be a number from 0 to 1, or a path');
  expect(() => given('--match', '0')).toThrow('It must be any, all, or a number above 0 up to 1');
  expect(() => given('--field-weights', 'title')).toThrow('It must be paths with whole numbers');
  expect(() => given('--fusion', 'dbsf:3')).toThrow('It must be rrf, rrf with a constant');
  expect(() => given('--fuzzy', '3')).toThrow('It must be 0, 1, 2 or auto');
  expect(() => given('--group-missing', 'some')).toThrow('Allowed choices are leave_out, each');
});
