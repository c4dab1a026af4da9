import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeTinyModel } from '../support/onnx/tiny-model';

/** The benchmark on a small data set: its figures mean nothing here, but they are all there and fit together. */

const bench = pathToFileURL(resolve(__dirname, '../bench/bench.mjs')).href;
const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-test-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(module: string, call: string): Promise<string> {
  return runScript(`import * as bench from ${JSON.stringify(module)}; await bench.${call};`);
}

function runScript(text: string): Promise<string> {
  const script = join(folder, 'bench.mjs');
  writeFileSync(script, text);
  return new Promise((done, fail) => {
    execFile(process.execPath, [script], { env: { ...process.env, BENCH_IDLE_MS: '100' } }, (error, stdout, stderr) =>
      error === null ? done(stdout) : fail(new Error(stderr)),
    );
  });
}

test('measures loading, searches, filters, space and restarts of a real process', async () => {
  const json = join(folder, 'report.json');
  const words = [
    '--dataset',
    'clusters-2k-16',
    '--queries',
    '50',
    '--seconds',
    '0.4',
    '--rounds',
    '2',
    '--connections',
    '2',
    '--json',
    json,
  ];
  const printed = await run(bench, `bench(${JSON.stringify(words)})`);
  expect(printed).toMatch(/^clusters-2k-16: 2000 × 16, cosine, 50 queries/m);

  const [quiver] = JSON.parse(readFileSync(json, 'utf8')).servers;
  expect(quiver.loading.rowsPerSecond).toBeGreaterThan(0);
  expect(quiver.settling.rowsPerSecond).toBeGreaterThan(0);
  expect(quiver.search.recall).toBeGreaterThanOrEqual(0.99);
  expect(quiver.search.speeds[0].queriesPerSecond).toBeGreaterThan(0);
  expect(quiver.search.speeds[0].p50Ms).toBeLessThanOrEqual(quiver.search.speeds[0].p99Ms);
  expect(quiver.filtered.map((entry: { keptShare: number }) => entry.keptShare)).toEqual([0.5, 0.1, 0.01, 0.0001]);
  for (const entry of quiver.filtered) expect(entry).toMatchObject({ recall: expect.closeTo(1, 1), shortAnswers: 0 });
  expect(quiver.space.diskBytes).toBeGreaterThanOrEqual(quiver.space.rawBytes);
  expect(quiver.restarts.SIGTERM.firstAnswerRecall).toBe(1);
  expect(quiver.restarts.SIGKILL.firstAnswerRecall).toBe(1);
});

test('measures the embedder beside the bare pipeline, on the same texts', async () => {
  const [model, text] = [join(folder, 'model'), join(folder, 'text.txt')];
  writeTinyModel(model, { files: ['model_quantized'] });
  writeFileSync(
    text,
    Array.from({ length: 40 }, (_, i) => `The cat number ${i} sits on a red stone beside the slow river.`).join('\n'),
  );
  const words = ['--model', model, '--text', text, '--texts', '40', '--batch', '8', '--rounds', '1', '--threads', '1'];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/embed-speed.mjs')).href,
    `benchEmbed(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/q8, 40 sentences/);
  expect(printed).toMatch(/the service's embedder +\d+ texts\/s +least cosine to the text alone 1\.00000/);
  expect(printed).toMatch(/the bare pipeline, batches of 8 +\d+ texts\/s +least cosine to the text alone 0\.99/);
});

test('measures keyword search in process and over HTTP, with answers that exhaustive scoring confirms', async () => {
  const json = join(folder, 'keyword.json');
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/keyword-bench.mjs')).href,
    `keywordBench(${JSON.stringify(['--documents', '3000', '--queries', '40', '--language', 'en', '--seconds', '0.3', '--json', json])})`,
  );
  expect(printed).toMatch(/^3,000 documents of \d+\.\d words, 40 queries of 2 to 4 words, language en/m);
  const { index, service } = JSON.parse(readFileSync(json, 'utf8'));
  expect(index.searches.map(({ k }: { k: number }) => k)).toEqual([10, 200]);
  for (const { pruned, exhaustive } of index.searches)
    expect(Math.min(pruned.p50Ms, exhaustive.p50Ms)).toBeGreaterThan(0);
  expect(index.memoryBytes).toBeGreaterThan(index.savedBytes);
  expect(service.speeds.map(({ connections }: { connections: number }) => connections)).toEqual([1, 8]);
  expect(service.speeds[0].p50Ms).toBeLessThanOrEqual(service.speeds[0].p99Ms);
  expect(Object.keys(service.restartMs)).toEqual(['SIGTERM', 'SIGKILL']);
});

test('measures vectors as arrays and as base64', async () => {
  const json = join(folder, 'formats.json');
  const words = ['--rows', '300', '--dim', '16', '--rounds', '1', '--repeat', '1', '--json', json];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/formats-bench.mjs')).href,
    `formatsBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^300 × 16, for a vector/m);
  const { steps } = JSON.parse(readFileSync(json, 'utf8'));
  expect(Object.keys(steps)).toEqual(['bulk_upsert', 'search', 'fetch', 'scroll', 'export']);
  for (const { array, base64 } of Object.values<any>(steps)) expect(base64.bytes).toBeLessThan(array.bytes);
});

test('measures a program with the service in its own process beside HTTP', async () => {
  const json = join(folder, 'library.json');
  const words = ['--dataset', 'clusters-2k-16', '--queries', '30', '--seconds', '0.1', '--rounds', '2', '--json', json];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/library-bench.mjs')).href,
    `libraryBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^library against client: \d+\.\d\d times$/m);
  const { figures } = JSON.parse(readFileSync(json, 'utf8'));
  expect(Object.keys(figures)).toEqual(['library', 'client', 'connection']);
  for (const { rates, recall } of Object.values<any>(figures)) {
    expect(rates).toHaveLength(2);
    expect(recall).toBeGreaterThan(0.9);
  }
});

test('measures what collections take, when they are loaded and after a restart', async () => {
  const json = join(folder, 'sizing.json');
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/sizing-bench.mjs')).href,
    `sizingBench(${JSON.stringify(['--dims', '16', '--rows', '1500', '--json', json])})`,
  );
  expect(printed).toMatch(/^\| 16 \| 1,500 \|/m);
  const [figures] = JSON.parse(readFileSync(json, 'utf8')).figures;
  expect(figures).toMatchObject({ dim: 16, rows: 1500, rawBytes: 96_000 });
  for (const bytes of [figures.statsBytes, figures.residentBytes, figures.emptyBytes]) expect(bytes).toBeGreaterThan(0);
  expect(figures.diskBytes).toBeGreaterThan(figures.rawBytes);
});

test('measures filters that agree with the query, go against it, or have nothing to do with it', async () => {
  const json = join(folder, 'filters.json');
  const words = [
    '--dataset',
    'clusters-2k-16',
    '--queries',
    '40',
    '--shares',
    '0.1,0.01',
    '--seconds',
    '0.2',
    '--json',
    json,
  ];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/filters-bench.mjs')).href,
    `filtersBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^\| kept \| random \| agree \| against \| conjunction \|\n.*\n\| 10 % \|.*\n\| 1 % \|/m);
  const { plain, filtered } = JSON.parse(readFileSync(json, 'utf8'));
  expect(filtered).toHaveLength(8);
  for (const one of [plain, ...filtered]) {
    expect(one).toMatchObject({ recall: expect.closeTo(1, 1), shortAnswers: 0 });
    expect(one.p50Ms).toBeLessThanOrEqual(one.p99Ms);
  }
});

test('measures features of searches beside the same searches without them', async () => {
  const json = join(folder, 'query-features.json');
  const words = [
    '--dataset',
    'clusters-2k-16',
    '--values',
    '500',
    '--seconds',
    '0.02',
    '--rounds',
    '1',
    '--json',
    json,
  ];
  const module = pathToFileURL(resolve(__dirname, '../bench/query-features-bench.mjs')).href;
  const printed = await run(module, `queryFeaturesBench(${JSON.stringify(words)})`);
  expect(printed).toMatch(/^\| feature \| plain \| each another \|/m);
  for (const name of ['group_by', 'ordered page, half way', '100 ranges', 'equal'])
    expect(printed).toContain(`\n| ${name} |`);
  for (const { plain, others, again, firstMs } of JSON.parse(readFileSync(json, 'utf8')).figures) {
    for (const one of [plain, others, again]) expect(one.p50Ms).toBeLessThanOrEqual(one.p99Ms);
    expect(firstMs).toBeGreaterThan(0);
  }
});

test('measures what a model takes for texts, and searches beside it', async () => {
  const model = join(folder, 'cross-encoder');
  writeTinyModel(model, { labels: 1 });
  const json = join(folder, 'rerank.json');
  const words = [...['--model', model, '--pairs', '5', '--words', '9', '--dataset', 'clusters-2k-16'], '--json', json];
  const module = pathToFileURL(resolve(__dirname, '../bench/rerank-bench.mjs')).href;
  const turns = ['--seconds', '0.1', '--rounds', '1'];
  const printed = await run(module, `rerankBench(${JSON.stringify([...words, ...turns])})`);
  expect(printed).toMatch(/^reranked in [\d.]+ ms/m);
  const { alone, beside, rerankMs, rerankBesideMs } = JSON.parse(readFileSync(json, 'utf8'));
  for (const one of [alone, beside]) expect(one.p50Ms).toBeLessThanOrEqual(one.p99Ms);
  for (const ms of [rerankMs, rerankBesideMs]) expect(ms).toBeGreaterThan(0);
});

test('measures what an embedding provider takes, asked as the service does it and by bare calls', async () => {
  const model = join(folder, 'provided');
  writeTinyModel(model);
  const module = pathToFileURL(resolve(__dirname, '../bench/provider-bench.mjs')).href;
  const words = ['--model', model, '--texts', '40', '--rounds', '1', '--batch', '8', '--threads', '1'];
  const text = resolve(__dirname, '../../docs');
  const printed = await run(module, `providerBench(${JSON.stringify([...words, '--text', text])})`);
  for (const line of ['bare calls', 'as the service asks', 'and keeps them', 'from the cache'])
    expect(printed).toMatch(new RegExp(`^  ${line} +\\d+ texts/s`, 'm'));
});

test('measures what a process takes that may have little memory, and how it answers', async () => {
  const json = join(folder, 'small-node.json');
  const words = [
    '--rows',
    '1500',
    '--dim',
    '16',
    '--metadata',
    'disk',
    '--metadata-bytes',
    '100',
    '--queries',
    '20',
    '--json',
    json,
  ];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/small-node-bench.mjs')).href,
    `smallNodeBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^recall at 10: [01][\d.]*; p50 [\d.]+ ms, p99 [\d.]+ ms/m);
  const figures = JSON.parse(readFileSync(json, 'utf8'));
  expect(figures).toMatchObject({ rows: 1500, metadata: 'disk', recall: expect.closeTo(1, 1) });
  expect(figures.first.p50Ms).toBeLessThanOrEqual(figures.first.p99Ms);
  expect(figures.after.anonymous).toBeGreaterThan(0);
});

test('measures many collections of which few are used', async () => {
  const json = join(folder, 'collections.json');
  const words = ['--collections', '30', '--opened', '10', '--dim', '8', '--memory', '0', '--json', json];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/collections-bench.mjs')).href,
    `collectionsBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(
    /^\| made \| 30 \|[^]*^\| behind a restart \| 30 \|[^]*^first search of 10 closed ones: p50 [\d.]+ ms, p99 [\d.]+;/m,
  );
  const { steps, first, open, list } = JSON.parse(readFileSync(json, 'utf8'));
  expect(steps).toHaveLength(13);
  for (const { ownBytes, files } of steps) expect(Math.min(ownBytes, files)).toBeGreaterThan(0);
  for (const { p50Ms, p99Ms } of [first, open]) expect(p50Ms).toBeLessThanOrEqual(p99Ms);
  expect(list.ms).toBeGreaterThan(0);
});

test('measures what a search costs as a collection grows, in memory and on the disk, and draws it', async () => {
  const [json, all, picture] = [
    join(folder, 'growth.json'),
    join(folder, 'growth-all.json'),
    join(folder, 'growth.svg'),
  ];
  const growth = (words: string[]): Promise<string> =>
    run(pathToFileURL(resolve(__dirname, '../bench/growth-bench.mjs')).href, `growthBench(${JSON.stringify(words)})`);
  const small = ['--dim', '16', '--queries', '40', '--exact', '40', '--passes', '1'];
  expect(await growth([...small, '--sizes', '500,1k', '--json', json])).toMatch(
    /^\| memory \| 500 \|.*\n\| memory \| 1,000 \|/m,
  );
  expect(
    await growth([...small, '--vectors', 'disk', '--sizes', '1k', '--with', json, '--json', all, '--picture', picture]),
  ).toMatch(/^\| memory \| 500 \|.*\n.*\n\| disk \| 1,000 \|/m);
  const { figures } = JSON.parse(readFileSync(all, 'utf8'));
  expect(figures).toHaveLength(3);
  // All are scanned.
  for (const one of figures)
    expect(one).toMatchObject({
      scored: one.rows,
      recall: expect.closeTo(1, 1),
      searchMicros: expect.any(Number),
      buildMicros: expect.any(Number),
    });
  expect(readFileSync(picture, 'utf8')).toContain('log of the rows');
});

test('measures searches while a collection is loaded and built, and loads of two checkouts in turns', async () => {
  const json = join(folder, 'loading.json');
  const loading = (words: string[]): Promise<string> =>
    run(
      pathToFileURL(resolve(__dirname, '../bench/loading-bench.mjs')).href,
      `loadingBench(${JSON.stringify(['--dataset', 'clusters-5k-16', '--queries', '40', '--json', json, ...words])})`,
    );
  expect(await loading([])).toMatch(
    /^\| while \| seconds \| searches \| p50 \| p99 \| longest \|\n.*\n\| loading \|[^]*^\| ready \|/m,
  );
  const { phases, loadSeconds, indexedSeconds, readySeconds } = JSON.parse(readFileSync(json, 'utf8'));
  expect(Math.min(indexedSeconds, readySeconds)).toBeGreaterThanOrEqual(loadSeconds);
  for (const { searches, p50Ms, p99Ms, mostMs } of [phases.loading, phases.ready]) {
    expect(searches).toBeGreaterThan(0);
    expect(p50Ms).toBeLessThanOrEqual(p99Ms);
    expect(p99Ms).toBeLessThanOrEqual(mostMs);
  }
  expect(await loading(['--beside', resolve(__dirname, '../..'), '--rounds', '2'])).toMatch(
    /^in the same round [\d.]+ × \([\d.]+ to [\d.]+\)$/m,
  );
  const { rounds } = JSON.parse(readFileSync(json, 'utf8'));
  expect(rounds).toHaveLength(2);
  for (const one of rounds.flat())
    expect(one).toMatchObject({ rowsPerSecond: expect.any(Number), processorMicros: expect.any(Number) });
});

test('measures half load, bulk searches and many collections of a real process', async () => {
  const json = join(folder, 'serving.json');
  const words = [
    '--dataset',
    'clusters-2k-16',
    '--queries',
    '40',
    '--seconds',
    '0.2',
    '--rounds',
    '1',
    '--connections',
    '2',
    '--collections',
    '3',
    '--rows-each',
    '500',
    '--json',
    json,
  ];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/serving-bench.mjs')).href,
    `servingBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^p99 at half load is [\d.]+ × its p50$/m);
  expect(printed).toMatch(/^p99 in equal steps is [\d.]+ × its p50$/m);
  const { one, many } = JSON.parse(readFileSync(json, 'utf8'));
  expect(printed).toMatch(
    /^an empty node:http server at that load .*\n99 of 100 requests were sent at most [\d.]+ ms late/m,
  );
  expect(printed).toMatch(
    /with a queue each, busy for [\d.]+ of the time, .*: p99 [\d.]+ × p50; with one queue for all [\d.]+ ×$/m,
  );
  for (const load of [one.saturated, one.half, one.even, one.stub, one.single, one.bulk, many.searches]) {
    expect(load.queriesPerSecond).toBeGreaterThan(0);
    expect(load.p50Ms).toBeLessThanOrEqual(load.p99Ms);
  }
  expect(many).toMatchObject({
    collections: 3,
    rowsEach: 500,
    restartMs: { SIGTERM: expect.any(Number), SIGKILL: expect.any(Number) },
  });
});

test('measures how throughput follows the number of HTTP threads, and draws it', async () => {
  const [json, picture] = [join(folder, 'threads.json'), join(folder, 'threads.svg')];
  const words = [
    '--dataset',
    'clusters-2k-16',
    '--queries',
    '40',
    '--threads',
    '1,2',
    '--connections',
    '2',
    '--seconds',
    '0.2',
    '--rounds',
    '1',
    '--no-pin',
    '--picture',
    picture,
    '--json',
    json,
  ];
  const printed = await run(
    pathToFileURL(resolve(__dirname, '../bench/threads-bench.mjs')).href,
    `threadsBench(${JSON.stringify(words)})`,
  );
  expect(printed).toMatch(/^\| 1 \|.*\n\| 2 \|/m);
  expect(printed).toMatch(/^From the processor times with 2 threads follow at most, .*; 16: [\d,]+ searches\/s\.$/m);
  const { measured, following } = JSON.parse(readFileSync(json, 'utf8'));
  for (const one of measured) {
    expect(one.queriesPerSecond).toBeGreaterThan(0);
    expect(one.busiestMicros).toBeGreaterThanOrEqual(one.mainMicros);
  }
  expect(following.cores.map(({ cores }: { cores: number }) => cores)).toEqual([1, 2, 4, 8, 16]);
  expect(readFileSync(picture, 'utf8')).toContain('>measured</text>');
  expect(readFileSync(join(folder, 'threads-time.svg'), 'utf8')).toContain('>main thread</text>');
});

test('a queue for each server makes more of the same load wait than one queue for all', async () => {
  const module = pathToFileURL(resolve(__dirname, '../bench/ideal-queue.mjs')).href;
  const printed = await runScript(
    `import { idealQueue } from ${JSON.stringify(module)}; console.log(JSON.stringify(idealQueue({ servers: 2, utilisation: 0.5 })));`,
  );
  expect(JSON.parse(printed)).toEqual({
    shared: { p50: expect.closeTo(1, 1), p99: expect.closeTo(2.56, 1) },
    own: { p50: expect.closeTo(1, 1), p99: expect.closeTo(4.35, 0) },
  });
});
