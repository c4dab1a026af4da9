import { attack, type Attack, library, post, words } from '../attack';

const MIB = 1024 * 1024;
/** Below the limit of a small body (2 MiB), and far beyond it. */
const SIZES = [100_000, 800_000, 5 * MIB];

/** Ignored inside a word and unbounded in a row: the letter that is only drawn out. */
const TATWEEL = '\u0640';
/** What a careless analyser, tokenizer or regular expression takes more than linear time for. */
const RUNS: readonly [name: string, unit: string, end: string][] = [
  ['tatweel', TATWEEL, "'s"],
  ['apostrophes', "a'", 's'],
  ['combining-marks', '\u0301', 'e'],
  ['spaces', ' ', 'x'],
  ['ligatures', '\ufdfa', ''],
  ['han-without-spaces', '\u6f22', ''],
  ['zero-width-joiners', '\u200d', 'x'],
  ['digits-and-dots', '1.', ''],
  ['lone-surrogates', '\\ud800', ''],
];

function hybrid(text: string, alpha: number): ReturnType<typeof post> {
  return post(library('hybrid_search'), `{"query_text":"${text}","alpha":${alpha},"k":10}`);
}

function repeated(unit: string, bytes: number, end: string): string {
  return unit.repeat(Math.floor(bytes / Buffer.byteLength(unit))) + end;
}

/** Texts: of queries, of searches and of the question endpoint. */
export const TEXT_ATTACKS: Attack[] = [
  ...RUNS.map(([name, unit, end]) =>
    attack({ name: `query-text:${name}`, shots: () => SIZES.map((bytes) => hybrid(repeated(unit, bytes, end), 0)) }),
  ),
  attack({ name: 'query-text:words', shots: (random) => SIZES.map((bytes) => hybrid(words(random, bytes / 9), 0)) }),
  attack({ name: 'query-text:embedded', shots: (random) => SIZES.map((bytes) => hybrid(words(random, bytes / 9), 1)) }),
  attack({
    name: 'search-text',
    shots: (random) => SIZES.map((bytes) => post(library('search'), { text: words(random, bytes / 9), k: 1 })),
  }),
  attack({
    name: 'bulk-search-texts',
    shots: (random) => [
      post(library('bulk_search'), {
        queries: Array.from({ length: 20 }, () => ({ text: words(random, 8_000), k: 1 })),
      }),
    ],
  }),
  attack({
    name: 'keyword-terms',
    shots: (random) => [200, 2_000, 20_000].map((count) => hybrid(words(random, count), 0)),
  }),
  attack({
    name: 'questions',
    shots: (random) => [
      post('/v1/query', { collection_name: 'library', query: words(random, 150).slice(0, 1000), top_k: 100 }),
    ],
  }),
];
