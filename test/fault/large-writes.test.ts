import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ShardSpec, UpsertOperation } from '../../shared/contract/shard/shard-client';
import { SLICE_MS } from '../../shared/base/time/work-slices';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import { eventually } from '../support/eventually';
import { LoopWatch } from '../support/threads/loop-watch';
import { seededRandom } from '../support/values/random';
import { sliceAfter } from '../support/values/stepping-clock';
import { NO_HURRY, ShardNode, nativeFactories, openRocksStore } from '../support/shards/shard-node';

/** Writes whose analysis takes seconds: they hold up nobody, and nobody sees an item in part. */

const SPEC: ShardSpec = { collectionUid: 'large', shard: 0, dim: 2, metric: 'ip' };
/** Steps of work in a slice: time goes on by them, so that it is the same on every machine. */
const STEPS = 8;
/**
 * Between two rounds of the event loop, in that time: a slice, and what else comes to its turn, which is more where the
 * machine is busy and much came meanwhile. All the work has some hundreds of slices.
 */
const LATE_MS = 40 * SLICE_MS;

let node: ShardNode;
let stopSlicing: () => void;

beforeEach(async () => {
  stopSlicing = sliceAfter(STEPS);
  node = await new ShardNode({ factories: nativeFactories, openStore: openRocksStore, fieldsMax: 3_000 }).start();
  await node.client.make(SPEC);
});

afterEach(async () => {
  stopSlicing();
  await node.destroy();
});

/** Words that are hardly ever met twice, so that each is new to the index. */
function newWords(seed: number, units: number): string {
  const random = seededRandom(seed);
  const words: string[] = [];
  for (let length = 0; length < units; length += words[words.length - 1].length + 1)
    words.push(Math.floor(random() * 2 ** 40).toString(36));
  return words.join(' ');
}

/** An item all of whose parts tell its version. */
function item(externalId: string, version: number, units: number): UpsertOperation {
  const seed = version * 10_000 + [...externalId].reduce((sum, character) => sum * 31 + character.charCodeAt(0), 0);
  return {
    type: 'upsert',
    externalId,
    vector: Float32Array.of(version, 1),
    stamp: 1,
    metadata: JSON.stringify({ version, note: `mark${'abcdefgh'[version]}` }),
    text: `version${'abcdefgh'[version]} ${newWords(seed, units)}`,
  };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `item-${i}`);
const write = (operations: Parameters<ShardNode['client']['write']>[1]) =>
  node.client.write(SPEC, operations, NO_HURRY);
const fetch = (externalIds: string[]) => node.client.read(SPEC, 'fetch', { externalIds, vectors: true }, NO_HURRY);
/**
 * A request comes from a socket, so the process takes up other work first: a look-up in memory alone would not let it.
 */
const nextRequest = () => new Promise((wake) => setImmediate(wake));
const equals = (version: number) => ({ type: 'equals', path: 'version', value: version }) as const;

function keywordHits(word: string, k: number) {
  const [term] = defaultAnalyser.terms(word);
  return node.client
    .read(SPEC, 'keywordStatistics', { terms: [term] }, NO_HURRY)
    .then((statistics) =>
      node.client.read(SPEC, 'keywordSearch', { terms: [term], statistics, k, filter: null }, NO_HURRY),
    );
}

test('a large write holds up neither the process nor a small read', async () => {
  await write([item('small', 1, 10)]);
  const items = names(200).map((name) => item(name, 1, 8_000));
  const watch = new LoopWatch();
  let isOver = false;
  const writing = write(items).finally(() => (isOver = true));
  let reads = 0;
  while (!isOver) {
    await nextRequest();
    const [found] = await fetch(['small']);
    expect(found?.externalId).toBe('small');
    reads++;
  }
  watch.stop();
  await writing;
  expect(await node.client.read(SPEC, 'count', null, NO_HURRY)).toBe(201);
  expect(watch.longestMs).toBeLessThan(LATE_MS);
  // What took all that time was parted, and reads came between.
  expect(watch.rounds).toBeGreaterThan(20);
  expect(reads).toBeGreaterThan(5);
});

test('a reader sees each item of a large write as it was or as it will be', async () => {
  const ids = names(150);
  await write(ids.map((id) => item(id, 1, 1_000)));
  let isOver = false;
  const writing = write(ids.map((id) => item(id, 2, 6_000))).finally(() => (isOver = true));
  const seen = new Set<number>();
  while (!isOver) {
    await nextRequest();
    const found = await fetch(ids);
    for (const one of found) {
      if (one === null) throw new Error('an item is missing');
      const version = one.vector?.[0] as number;
      expect(JSON.parse(one.metadata).version).toBe(version);
      expect(one.text?.slice(0, 8)).toBe(`version${'abcdefgh'[version]}`);
      seen.add(version);
    }
    const { hits } = await node.client.read(
      SPEC,
      'search',
      { vector: Float32Array.of(1, 0), k: 200, filter: null, effort: { type: 'exact' }, texts: true },
      NO_HURRY,
    );
    expect(hits.map(({ externalId }) => externalId).sort()).toEqual([...ids].sort());
    for (const hit of hits) {
      expect(JSON.parse(hit.metadata).version).toBe(hit.score);
      expect(hit.text?.slice(0, 8)).toBe(`version${'abcdefgh'[hit.score]}`);
    }
    const scanned = await node.client.read(
      SPEC,
      'scan',
      { after: null, limit: 1_000, filter: equals(1), vectors: true },
      NO_HURRY,
    );
    for (const one of scanned) expect([one.vector?.[0], JSON.parse(one.metadata).version]).toEqual([1, 1]);
    const byWord = await keywordHits('marka', 200);
    for (const hit of byWord) expect(JSON.parse(hit.metadata).version).toBe(1);
  }
  await writing;
  expect(seen).toContain(1);
  // What is acknowledged is seen by every later read.
  for (const one of await fetch(ids)) expect([one?.vector?.[0], one?.text?.slice(0, 8)]).toEqual([2, 'versionc']);
  expect(await keywordHits('marka', 200)).toEqual([]);
  expect(await keywordHits('markb', 200)).toHaveLength(0);
  expect(await keywordHits('markc', 200)).toHaveLength(150);
});

test('a search for thousands, whose hits are made in slices, sees each item once and whole while all of them are replaced', async () => {
  const ids = names(3_000);
  const put = (version: number) => write(ids.map((id) => ({ ...item(id, version, 0), text: undefined })));
  await put(1);
  let isOver = false;
  const writing = (async () => {
    for (let version = 2; version < 8; version++) await put(version);
  })().finally(() => (isOver = true));
  let searches = 0;
  while (!isOver) {
    await nextRequest();
    const { hits } = await node.client.read(
      SPEC,
      'search',
      { vector: Float32Array.of(1, 0), k: 3_000, filter: null, effort: { type: 'exact' }, texts: false },
      NO_HURRY,
    );
    expect(hits.map(({ externalId }) => externalId).sort()).toEqual([...ids].sort());
    expect(hits.filter((hit) => JSON.parse(hit.metadata).version !== hit.score)).toEqual([]);
    searches++;
  }
  await writing;
  expect(searches).toBeGreaterThan(0);
});

test('a checkpoint that is written while a large write is applied leaves nothing out', async () => {
  const ids = names(120);
  await write(ids.map((id) => item(id, 1, 1_000)));
  const shard = await node.host.shard(SPEC);
  let isOver = false;
  const writing = write([
    ...ids.slice(0, 100).map((id) => item(id, 2, 6_000)),
    ...ids.slice(110).map((externalId) => ({ type: 'delete', externalId }) as const),
  ]).finally(() => (isOver = true));
  let checkpoints = 0;
  while (!isOver) {
    await shard.checkpoint();
    checkpoints++;
  }
  await writing;
  expect(checkpoints).toBeGreaterThan(0);

  // As a crash leaves it: without the checkpoint that closing would write.
  const folder = `${node.folder}-crashed`;
  cpSync(node.folder, folder, { recursive: true, filter: (path) => !path.endsWith('/LOCK') });
  const crashed = await new ShardNode({ factories: nativeFactories, openStore: openRocksStore, folder }).start();
  try {
    await crashed.client.make(SPEC);
    const versions = await crashed.client.read(SPEC, 'fetch', { externalIds: ids, vectors: true }, NO_HURRY);
    expect(versions.map((one) => one?.vector?.[0] ?? 0)).toEqual([
      ...Array(100).fill(2),
      ...Array(10).fill(1),
      ...Array(10).fill(0),
    ]);
    for (const version of [1, 2]) {
      const { hits } = await crashed.client.read(
        SPEC,
        'search',
        { vector: Float32Array.of(1, 0), k: 200, filter: equals(version), effort: { type: 'exact' }, texts: false },
        NO_HURRY,
      );
      expect(hits).toHaveLength(version === 2 ? 100 : 10);
    }
  } finally {
    await crashed.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('indexes are made again from the records in slices', async () => {
  for (let batch = 0; batch < 3; batch++) await write(names(150).map((name) => item(`${batch}-${name}`, 1, 6_000)));
  await node.stop();
  const shards = join(node.folder, 'shards', SPEC.collectionUid, '0');
  rmSync(join(shards, 'MANIFEST.json'));
  await node.start();
  const watch = new LoopWatch();
  await node.client.make(SPEC);
  watch.stop();
  expect(await node.client.read(SPEC, 'count', null, NO_HURRY)).toBe(450);
  expect(watch.longestMs).toBeLessThan(LATE_MS);
  expect(watch.rounds).toBeGreaterThan(20);
});

test('a shard that is dropped gives up a write that nothing is stored of yet', async () => {
  // Tens of seconds of work, with the same words in every text: what costs is counting them.
  const shared = newWords(1, 20_000);
  const watch = new LoopWatch();
  const writing = write(names(1_000).map((name) => ({ ...item(name, 1, 0), text: shared })));
  const failed = writing.then(
    () => 'stored',
    (error: { kind: string }) => error.kind,
  );
  // The loop turns between the slices of the write.
  await eventually('the write is under way', () => watch.rounds > 20);
  await node.client.drop(SPEC);
  watch.stop();
  expect(await failed).toBe('not_found');
  expect(watch.longestMs).toBeLessThan(LATE_MS);
});

describe('distinct metadata fields', () => {
  const withFields = (externalId: string, prefix: string, count: number): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 1),
    stamp: 1,
    metadata: JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, i]))),
    text: undefined,
  });

  test('are bounded: an item that goes beyond is refused by name, and nothing of its write is stored', async () => {
    await write([withFields('first', 'a', 1_000), withFields('second', 'a', 1_000), withFields('third', 'b', 1_500)]);
    await expect(write([withFields('fits', 'a', 10), withFields('too many', 'c', 501)])).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: expect.stringMatching(/"too many".*3000.*MAX_COLLECTION_FIELDS/),
    });
    expect(await node.client.read(SPEC, 'count', null, NO_HURRY)).toBe(3);
    await write([withFields('just enough', 'c', 500)]);
    await expect(write([withFields('one more', 'd', 1)])).rejects.toMatchObject({ kind: 'limit_exceeded' });
    await write([withFields('of known fields', 'b', 1_500)]);
  });

  test('are free again with the last item that has them', async () => {
    await write([withFields('first', 'a', 3_000)]);
    await expect(write([withFields('second', 'b', 1)])).rejects.toMatchObject({ kind: 'limit_exceeded' });
    await write([{ type: 'delete', externalId: 'first' }]);
    await write([withFields('second', 'b', 3_000)]);
  });

  test('of writes at the same time are counted together', async () => {
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e'].map((prefix) => write([withFields(prefix, prefix, 1_000)])),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    // Those that were refused claim nothing any more.
    await write([{ type: 'delete', externalId: 'a' }]);
    await write([withFields('f', 'f', 1_000)]);
  });

  test('beyond the bound are served where they are stored already', async () => {
    await write([withFields('first', 'a', 3_000)]);
    const { folder } = node;
    await node.stop();
    const strict = await new ShardNode({
      factories: nativeFactories,
      openStore: openRocksStore,
      folder,
      fieldsMax: 10,
    }).start();
    try {
      await strict.client.make(SPEC);
      const { hits } = await strict.client.read(
        SPEC,
        'search',
        {
          vector: Float32Array.of(1, 0),
          k: 5,
          filter: { type: 'equals', path: 'a2999', value: 2999 },
          effort: { type: 'exact' },
          texts: false,
        },
        NO_HURRY,
      );
      expect(hits).toHaveLength(1);
      await strict.client.write(SPEC, [withFields('second', 'a', 100)], NO_HURRY);
      await expect(strict.client.write(SPEC, [withFields('third', 'b', 1)], NO_HURRY)).rejects.toMatchObject({
        kind: 'limit_exceeded',
      });
    } finally {
      await strict.stop();
      await node.start();
    }
  });
});
