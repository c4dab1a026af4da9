import { handWrittenCode } from '../support/tracked-files';

/**
 * How much of the house one thing takes, counted over the code that people write. The numbers are ceilings: they may only
 * fall, and a change that makes one fall writes the new one here.
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
    ['an option of the coordinator: min_score', /\b(?:min_score|minScore|min-score)\b/, { service: 7, users: 2, tests: 8 }],
    ['an option that reaches the shard: ef', /\bef\b/, { service: 20, users: 2, tests: 20 }],
    ['an operator of filters: $gte', /\$gte\b|\b(?:gte|kGte)\b/, { service: 10, users: 7, tests: 36 }],
    ['an endpoint: hybrid_search', /\b(?:hybrid_search|hybridSearch|hybrid-search|HybridSearch)\b/, { service: 5, users: 12, tests: 35 }],
    ['a kind of job: purge', /purge/i, { service: 26, users: 5, tests: 13 }],
  ])('%s', (_thing, words, ceilings) => {
    const naming = code.filter(({ path, text }) => path !== 'test/unit/house-counts.test.ts' && words.test(text)).map(({ path }) => path);
    const counts = Object.fromEntries(Object.entries(KINDS).map(([kind, paths]) => [kind, naming.filter((path) => paths.test(path)).length]));
    expect(Object.entries(counts).filter(([kind, count]) => count > ceilings[kind as keyof typeof KINDS])).toEqual([]);
    // What is counted is there.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  });
});

describe('lines of TypeScript', () => {
  const COLUMNS = 120;
  const lines = code.filter(({ path }) => /\.tsx?$/.test(path)).flatMap(({ text }) => text.split('\n'));
  const isLong = (line: string): boolean => line.length > COLUMNS;
  const isComment = (line: string): boolean => /^\s*(?:\/\/|\/?\*)/.test(line);

  test(`comments of more than ${COLUMNS} columns`, () => {
    expect(lines.filter((line) => isComment(line) && isLong(line)).length).toBeLessThanOrEqual(2132);
  });

  // The formatter joins code up to 200 columns: until it has another width, new code adds some.
  test(`all of more than ${COLUMNS} columns`, () => {
    expect(lines.filter(isLong).length).toBeLessThanOrEqual(12_640);
  });
});
