import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ExhaustiveScorer } from './exhaustive-scorer.mjs';
import { ProgressBar } from './progress-bar.mjs';

const require = createRequire(import.meta.url);
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
/** Documents made before they are put: making them is not what is measured. */
const BATCH = 1000;
/** An answer's ten, and the least that hybrid search asks for. */
const DEPTHS = [10, 200];
/** A query's time is its fastest of so many: what else the machine does meanwhile is not what is measured. */
const PASSES = 3;
/** The same sum in another order of its terms. */
const ROUNDING = 1e-9;

/**
 * The index alone on one thread: loading, memory, save and load, and searches beside exhaustive scoring of the same
 * queries.
 */
export function measureKeywordIndex({ corpus, count, queries, language }) {
  const { Bm25KeywordIndex } = require(join(DIST, 'node', 'engine', 'keyword', 'bm25-keyword-index.js'));
  const { analyserFor } = require(join(DIST, 'shared', 'base', 'text', 'analyser-for.js'));
  const analyser = analyserFor(language);
  let index = new Bm25KeywordIndex({ analyser });
  const exhaustive = new ExhaustiveScorer();
  const bar = new ProgressBar({ label: 'indexing', total: count });
  let putMs = 0;
  let textBytes = 0;
  for (let first = 0; first < count; first += BATCH) {
    const texts = Array.from({ length: Math.min(BATCH, count - first) }, () => corpus.document());
    const startedAt = performance.now();
    texts.forEach((text, i) => index.put(first + i, text));
    putMs += performance.now() - startedAt;
    for (const text of texts) {
      textBytes += text.length;
      exhaustive.add(language === null ? text : analyser.terms(text).join(' '));
    }
    bar.report(first + texts.length);
  }
  bar.finish();
  exhaustive.seal();
  const { memoryBytes } = index;
  const [saved, saveMs] = timed(() => Buffer.concat([...index.save()]));
  const [loaded, loadMs] = timed(() => Bm25KeywordIndex.load(saved, { analyser }));
  index = loaded;
  const terms = queries.map((words) => analyser.termsToFind(words.join(' ')));
  return {
    documentsPerSecond: (count / putMs) * 1000,
    averageLength: exhaustive.totalLength / count,
    textBytes,
    memoryBytes,
    savedBytes: saved.length,
    saveMs,
    loadMs,
    searches: DEPTHS.map((k) => {
      const search = (query) => index.search(query, index.statistics(query), { k, allowed: null });
      for (const query of terms) compare(search(query).scores.subarray(0, k), exhaustive.search(query, k), query);
      return { k, pruned: timesOf(terms, search), exhaustive: timesOf(terms, (query) => exhaustive.search(query, k)) };
    }),
  };
}

function timed(work) {
  const startedAt = performance.now();
  const result = work();
  return [result, performance.now() - startedAt];
}

function timesOf(queries, search) {
  const times = queries
    .map((query) => Math.min(...Array.from({ length: PASSES }, () => timed(() => search(query))[1])))
    .sort((a, b) => a - b);
  return {
    p50Ms: times[Math.floor(times.length / 2)],
    p99Ms: times[Math.floor(times.length * 0.99)],
    slowestMs: times.at(-1),
  };
}

function compare(found, expected, query) {
  const isSame =
    found.length === expected.length && expected.every((score, i) => Math.abs(score - found[i]) <= ROUNDING * score);
  if (!isSame) throw new Error(`"${query.join(' ')}" is answered differently by exhaustive scoring`);
}
