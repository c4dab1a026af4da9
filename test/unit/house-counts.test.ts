import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { handWrittenCode } from '../support/tracked-files';

/**
 * How much of the house one thing takes, counted over the code that people write. The numbers are ceilings: they may
 * only fall, and a change that makes one fall writes the new one here.
 */

const code = handWrittenCode();

/** Who names a thing: the service itself, those who use its API, or tests. */
const KINDS = {
  service: /^(?:coordinator\/|embedded\/|node\/|proto\/|shared\/)/,
  users: /^(?:cli|clients\/[^/]+\/src|dashboard)\//,
  tests: /^(?:test\/(?!bench\/)|clients\/[^/]+\/tests\/)/,
};

describe('files that name', () => {
  test.each([
    [
      'an option of the coordinator: min_score',
      /\b(?:min_score|minScore|min-score)\b/,
      { service: 6, users: 1, tests: 10 },
    ],
    [
      'an option of the coordinator that is told of hits: text_max',
      /\b(?:text_max|textMax)\b/,
      { service: 3, users: 0, tests: 3 },
    ],
    ['an option that reaches the shard: ef', /\bef\b/, { service: 19, users: 1, tests: 20 }],
    ['an operator of filters: $gte', /\$gte\b|\b(?:gte|kGte)\b/, { service: 10, users: 4, tests: 37 }],
    // Of these, the Python client's is written. With the page of changes and the guide, 8 files by hand.
    ['an operator that other conditions make: $empty', /\$empty\b/, { service: 2, users: 1, tests: 4 }],
    ['a condition that the addon knows: between', /\bkBetween\b|'between'/, { service: 11, users: 0, tests: 4 }],
    // With the page of changes, 6 files.
    [
      'an endpoint of which all follows from its row: embed',
      /\bembed(?:Body|Answer)\b|\bEmbeddedTexts\b|\}\/embed`/,
      { service: 4, users: 0, tests: 1 },
    ],
    [
      'an endpoint: hybrid_search',
      /\b(?:hybrid_search|hybridSearch|hybrid-search|HybridSearch)\b/,
      { service: 6, users: 11, tests: 35 },
    ],
    // Of these, four and two are what makes it durable.
    ['a kind of job: purge', /purge/i, { service: 30, users: 4, tests: 15 }],
    ['a kind of job: evaluate', /\bEvaluateKind\b/, { service: 2, users: 0, tests: 1 }],
    ['a kind of job: verify', /\b(?:VERIFY|VerifyKind|verifyJob)\b/, { service: 4, users: 0, tests: 2 }],
  ])('%s', (_thing, words, ceilings) => {
    const naming = code
      .filter(({ path, text }) => path !== 'test/unit/house-counts.test.ts' && words.test(text))
      .map(({ path }) => path);
    const counts = Object.fromEntries(
      Object.entries(KINDS).map(([kind, paths]) => [kind, naming.filter((path) => paths.test(path)).length]),
    );
    expect(Object.entries(counts).filter(([kind, count]) => count > ceilings[kind as keyof typeof KINDS])).toEqual([]);
    // What is counted is there.
    for (const [kind, count] of Object.entries(counts)) {
      if (ceilings[kind as keyof typeof KINDS] > 0) expect(count).toBeGreaterThan(0);
    }
  });
});

test.each([
  ['A field of a search', 12, /\b(?:texts|include_text)\b/],
  ['What hits carry', 7, /\b(?:versions?|include_version)\b/],
])('%s: docs/adding-a-read.md names all of its %i files', (title, count, words) => {
  const page = readFileSync(resolve(__dirname, '../../docs/adding-a-read.md'), 'utf8');
  const section = page.split(`## ${title}\n`)[1].split('\n## ')[0];
  const named = [...new Set([...section.matchAll(/`([\w./-]+\.(?:ts|proto))`/g)].map(([, path]) => path))];
  expect(named.length).toBe(count);
  const isThere = (path: string): boolean => code.some((file) => file.path === path && words.test(file.text));
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

test('the fields of a search are listed in no other file of the service', () => {
  const lists = code
    .filter(({ path, text }) => KINDS.service.test(path) && /\bcounted\??: (?:'handled'|'left'|true;)/.test(text))
    .map(({ path }) => path);
  expect(lists).toEqual([
    'node/engine/shard/reading/shared-shard.ts',
    'shared/contract/shard/shard-read.ts',
    'shared/wire/frames/read-frames.ts',
  ]);
});

describe('lines of more than 120 columns', () => {
  const COLUMNS = 120;
  const linesOf = (names: RegExp): string[] =>
    code.filter(({ path }) => names.test(path)).flatMap(({ text }) => text.split('\n'));
  const isLong = (line: string): boolean => line.length > COLUMNS;
  const isComment = (line: string): boolean => /^\s*(?:\/\/|\/?\*)/.test(line);

  test('are no comments, but for what stands in one piece', () => {
    const long = linesOf(/\.(?:tsx?|mjs|cc|h)$/).filter((line) => isComment(line) && isLong(line));
    expect(long.filter((line) => !/https?:\/\/|oxlint-|[α-ω⟨²]/.test(line))).toEqual([]);
  });

  // The formatter divides code; what is left are texts.
  test('are few in TypeScript', () => {
    expect(linesOf(/\.tsx?$/).filter(isLong).length).toBeLessThanOrEqual(950);
  });

  test('are not in C++', () => {
    const long = linesOf(/\.(?:cc|h)$/).filter((line) => !isComment(line) && isLong(line));
    expect(long.filter((line) => !/["]/.test(line))).toEqual([]);
  });
});

test('that a file is missing is told by shared/base/files/missing-file.ts, unless other codes count, too', () => {
  const naming = code.filter(({ path, text }) => KINDS.service.test(path) && /'ENOENT'/.test(text));
  const alone = naming.filter(({ text }) => !/'ENOTDIR'|=== 'string' && \/\^E/.test(text)).map(({ path }) => path);
  expect(alone).toEqual(['shared/base/files/missing-file.ts']);
});

// Of these, seven read documents.
test('packages that a service is installed with are 205 at most', () => {
  const file = resolve(__dirname, '../../package-lock.json');
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { dev?: boolean }> };
  const installed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  expect(installed.length).toBeGreaterThan(100);
  expect(installed.length).toBeLessThanOrEqual(205);
});

test('what carries messages between processes is written in 9,150 lines at most', () => {
  const carrying =
    /^(?:shared\/wire|coordinator\/cluster\/calls|node\/hosting\/(?:services|threads)|node\/replication\/links)\//;
  const lines = code.filter(({ path }) => carrying.test(path)).flatMap(({ text }) => text.split('\n'));
  expect(lines.length).toBeGreaterThan(5_000);
  expect(lines.length).toBeLessThanOrEqual(9_150);
});

test('jobs have one set of states, and kinds add none', () => {
  const kinds = code.filter(({ text }) => /\bimplements JobKind\b/.test(text));
  expect(kinds.length).toBeGreaterThan(4);
  expect(kinds.filter(({ text }) => /\bstate: '(?!\w+' as)/.test(text)).map(({ path }) => path)).toEqual([]);
  const defined = code.filter(({ text }) => /\bJOB_STATES = \[/.test(text)).map(({ path }) => path);
  expect(defined).toEqual(['coordinator/service/jobs-service.ts']);
});

test('the glossary has 90 terms at most, each of them once', () => {
  const page = readFileSync(resolve(__dirname, '../../docs/glossary.md'), 'utf8');
  const terms = [...page.matchAll(/^- \*\*(.+?)\*\*/gm)].flatMap(([, names]) => names.split(', '));
  expect(terms.length).toBeGreaterThan(50);
  expect(terms.length).toBeLessThanOrEqual(90);
  expect(terms.filter((term, i) => terms.indexOf(term) !== i)).toEqual([]);
});

test('deadlines of calls are timers of our own, which nobody frees before they fire', () => {
  const naming = code.filter(
    ({ path, text }) => /^(?:coordinator|embedded|node|shared|cli)\//.test(path) && /AbortSignal\.timeout\(/.test(text),
  );
  expect(naming.map(({ path }) => path)).toEqual([]);
});
