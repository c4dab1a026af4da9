import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The evaluation of text search: its measures against values found by hand, and the whole of it on a small task. */

const bench = (file: string): string => JSON.stringify(pathToFileURL(resolve(__dirname, '../bench/text', file)).href);
const folder = mkdtempSync(join(tmpdir(), 'quiver-text-bench-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the body of a module and answers what it wrote; rejects with its errors. */
function run(body: string): Promise<string> {
  return new Promise((done, fail) => {
    execFile(process.execPath, ['--input-type=module', '-e', body], (error, stdout, stderr) =>
      error === null ? done(stdout) : fail(new Error(stderr)),
    );
  });
}

const valueOf = async (expression: string, names: string, file: string): Promise<any> =>
  JSON.parse(await run(`import { ${names} } from ${bench(file)}; console.log(JSON.stringify(${expression}));`));

describe('measures of a ranking', () => {
  const judged = `new Map([['a', 2], ['b', 1], ['c', 0], ['d', 1]])`;
  const measured = (expression: string) =>
    valueOf(expression, 'mean, ndcgAt, quantile, recallAt', 'ranking-metrics.mjs');

  test('nDCG weighs grades by the logarithm of their rank, against the best list there could be', async () => {
    // Ideal: 2 / log2 2 + 1 / log2 3 + 1 / log2 4 = 2 + 0.630929753571457 + 0.5 = 3.130929753571457.
    const ideal = 3.130929753571457;
    const values = await measured(`[
      ndcgAt(10, ['a', 'b', 'd'], ${judged}),
      ndcgAt(10, ['b', 'x', 'a'], ${judged}),
      ndcgAt(2, ['b', 'x', 'a'], ${judged}),
      ndcgAt(10, ['c', 'x'], ${judged}),
      ndcgAt(10, [], ${judged}),
      ndcgAt(10, ['a'], new Map([['a', 0]])),
    ]`);
    expect(values[0]).toBe(1);
    expect(values[1]).toBeCloseTo((1 + 2 / 2) / ideal, 12);
    // Cut at two places the ideal is too: 2 + 0.630929753571457.
    expect(values[2]).toBeCloseTo(1 / 2.630929753571457, 12);
    expect(values.slice(3)).toEqual([0, 0, 0]);
  });

  test('recall is the share of the relevant that were found, however they are graded', async () => {
    const values = await measured(`[
      recallAt(100, ['d', 'x', 'a'], ${judged}), recallAt(1, ['d', 'a'], ${judged}), recallAt(100, ['c'], ${judged}), recallAt(100, ['c'], new Map([['c', 0]]))
    ]`);
    expect(values).toEqual([2 / 3, 1 / 3, 0, 0]);
  });

  test('means and quantiles', async () => {
    expect(
      await measured(
        '[mean([1, 2, 6]), quantile([3, 1, 2], .5), quantile([4, 1, 3, 2], .5), quantile([1, 2], .95), quantile([7], .5)]',
      ),
    ).toEqual([3, 2, 2, 2, 7]);
  });
});

describe('a folder in the layout of BEIR', () => {
  const made = join(folder, 'made');

  beforeAll(() =>
    run(`
      import { makeTask } from ${bench('made-task.mjs')};
      import { writeBeirFolder } from ${bench('beir-folder.mjs')};
      writeBeirFolder(${JSON.stringify(made)}, makeTask({ topics: 20, seed: 7 }));
    `),
  );

  test('is read as it was written, the title before the text, and only judged queries', async () => {
    const small = join(folder, 'small');
    mkdirSync(join(small, 'qrels'), { recursive: true });
    writeFileSync(
      join(small, 'corpus.jsonl'),
      '{"_id":"1","title":"A title","text":"a text","metadata":{}}\n{"_id":2,"text":"no title"}\n',
    );
    writeFileSync(join(small, 'queries.jsonl'), '{"_id":"q","text":"asks"}\n{"_id":"unjudged","text":"asks too"}\n');
    writeFileSync(join(small, 'qrels', 'dev.tsv'), 'query-id\tcorpus-id\tscore\nq\t1\t2\nq\t2\t0\n');
    const read = (split: string) =>
      valueOf(
        `(({ documents, queries, judgements }) => ({ documents, queries, judgements: [...judgements].map(([id, grades]) => [id, [...grades]]) }))(readBeirFolder(${JSON.stringify(small)}, ${JSON.stringify(split)}))`,
        'readBeirFolder',
        'beir-folder.mjs',
      );
    expect(await read('dev')).toEqual({
      documents: [
        { id: '1', text: 'A title a text' },
        { id: '2', text: 'no title' },
      ],
      queries: [{ id: 'q', text: 'asks' }],
      judgements: [
        [
          'q',
          [
            ['1', 2],
            ['2', 0],
          ],
        ],
      ],
    });
    await expect(read('test')).rejects.toThrow(/there is no .*test\.tsv/);
    writeFileSync(join(small, 'qrels', 'test.tsv'), 'query-id\tcorpus-id\tscore\nq 1 2\n');
    await expect(read('test')).rejects.toThrow(/query-id, corpus-id and grade/);
  });

  test('a made task is the same for a seed', async () => {
    const made = (seed: number) =>
      valueOf(`makeTask({ topics: 2, seed: ${seed} }).documents`, 'makeTask', 'made-task.mjs');
    expect(await made(1)).toEqual(await made(1));
    expect(await made(1)).not.toEqual(await made(2));
  });

  test('is evaluated for keywords, vectors and both', async () => {
    const json = join(folder, 'report.json');
    const printed = await run(`
      import { textBench } from ${bench('text-bench.mjs')};
      await textBench(['--data', ${JSON.stringify(made)}, '--alpha', '0.4', '--json', ${JSON.stringify(json)}]);
    `);
    expect(printed).toMatch(/^made: 240 documents, 20 queries; model builtin, language none/m);
    expect(printed).toMatch(/^hybrid, alpha 0\.4 +0\.\d{4}/m);
    const { modes } = JSON.parse(readFileSync(json, 'utf8'));
    expect(modes.map(({ name }: { name: string }) => name)).toEqual(['keyword', 'vector', 'hybrid']);
    for (const mode of modes) {
      // A topic's words are in no other one, so whoever reads words finds most of its 12 documents among the first
      // hundred.
      expect(mode.recall100).toBeGreaterThan(0.6);
      expect(mode.ndcg10).toBeGreaterThan(0.5);
      expect(mode.ndcg10).toBeLessThanOrEqual(1);
      expect(mode.p50Ms).toBeLessThanOrEqual(mode.p95Ms);
      expect(mode.searchP50Ms).toBeGreaterThan(0);
    }
    expect(modes[0].embeddingP50Ms).toBeLessThan(modes[0].p50Ms);
  });

  test.each([
    [['--alpha', '0.5'], /--data is missing/],
    [['--data', '/nowhere'], /there is no .nowhere.corpus\.jsonl/],
    [['--data', '/nowhere', '--alpha', '2'], /--alpha/],
  ])('refuses %j', async (words, message) => {
    await expect(
      run(`import { textBench } from ${bench('text-bench.mjs')}; await textBench(${JSON.stringify(words)});`),
    ).rejects.toThrow(message);
  });
});
