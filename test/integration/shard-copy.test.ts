import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import type { LogEntry } from '../../node/replication/core/replica-state';
import { digestOf } from '../../node/replication/replica-digest';
import { chunksOf, installCopy, settleCopy } from '../../node/replication/shard-copy';
import type { Hit } from '../../shared/contract/shard/shard-read';
import { runSeed, seededRandom } from '../support/values/random';
import { replay } from '../support/shards/replayed-log';
import { nativeFactories } from '../support/shards/shard-node';
import { StoredReplica, writeEntry } from '../support/shards/stored-replica';

/** Copies of shards, on RocksDB with the native index. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 16, metric: 'cosine' } as const;
const random = seededRandom(runSeed('shard copy'));
/** Makes a copy of some hundred items several chunks long. */
const PADDING = 'x'.repeat(20_000);

let root: string;
const opened: StoredReplica[] = [];

beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'quiver-copy-'))));
afterEach(async () => {
  for (const replica of opened.splice(0)) await replica.close('crashed');
  rmSync(root, { recursive: true, force: true });
});

async function openReplica(name: string): Promise<StoredReplica> {
  const replica = await new StoredReplica(join(root, name), SPEC, { factories: nativeFactories }).open();
  opened.push(replica);
  return replica;
}

async function closeReplica(replica: StoredReplica): Promise<void> {
  opened.splice(opened.indexOf(replica), 1);
  await replica.close();
}

function vector(): Float32Array {
  return Float32Array.from({ length: SPEC.dim }, () => random() - 0.5);
}

/** A write of some items, updates and deletions. */
function entry(sequence: number, epoch = 1): LogEntry {
  const operations = Array.from({ length: 20 }, (_, i) => {
    const externalId = `id${Math.floor(random() * 600)}`;
    if (random() < 0.15) return { type: 'delete' as const, externalId };
    return {
      type: 'upsert' as const,
      externalId,
      vector: vector(),
      stamp: sequence * 100 + i,
      metadata: JSON.stringify({ n: i, of: sequence }),
      text: random() < 0.7 ? `entry${sequence} item${i} ${PADDING}` : undefined,
    };
  });
  return writeEntry({ epoch, sequence }, operations, { settledBelow: sequence - 5 });
}

async function fill(replica: StoredReplica, from: number, to: number): Promise<void> {
  const entries = Array.from({ length: to - from + 1 }, (_, i) => entry(from + i));
  await replica.storage.append({ entries });
  await replica.storage.apply(to);
}

function install(name: string, chunks: Iterable<Buffer> | AsyncIterable<Buffer>, mayBegin = () => true) {
  return installCopy({
    folder: join(root, name),
    openStore: (path) => RocksKeyValueStore.open(path),
    chunks: (async function* () {
      yield* chunks;
    })(),
    promises: { promisedEpoch: 7, lastLedEpoch: 3 },
    mayBegin,
  });
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

async function search(replica: StoredReplica, query: Float32Array): Promise<Hit[]> {
  return (
    await replica.shard.read('search', { vector: query, k: 10, filter: null, effort: { type: 'exact' }, texts: true })
  ).hits;
}

/** Scores are sums in the order of the vectors' places, which are the replica's own. */
function rounded(hits: Hit[]): Hit[] {
  return hits.map((hit) => ({ ...hit, score: Math.round(hit.score * 1e5) / 1e5 }));
}

test('a log that grew too long for a copy is not held by it any more, and the copy can be told so', async () => {
  const source = await openReplica('source');
  await fill(source, 1, 20);
  const pin = source.storage.pin();
  await fill(source, 21, 40);
  await source.storage.trim(41, 21);
  expect([pin.isOutrun(), source.storage.state.firstSequence]).toEqual([false, 21]);
  await source.storage.trim(30, 30);
  expect([pin.isOutrun(), source.storage.state.firstSequence]).toEqual([true, 30]);
  pin.release();
});

test('a copy made under writes is the shard at one point, and the log from there leads to the same replica', async () => {
  const source = await openReplica('source');
  await fill(source, 1, 150);
  const old = await openReplica('target');
  await fill(old, 1, 3);
  await closeReplica(old);

  const { release } = source.storage.pin();
  let last = 150;
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(source.store)) {
    chunks.push(chunk);
    await fill(source, last + 1, last + 10);
    last += 10;
    await source.storage.trim(last);
  }
  expect(chunks.length).toBeGreaterThan(4);
  const position = await install('target', chunks);
  expect(position).toEqual({ sequence: 150, epoch: 1 });

  const target = await openReplica('target');
  expect(target.storage.state).toMatchObject({
    appliedSequence: 150,
    lastSequence: 150,
    firstSequence: 151,
    precedingEpoch: 1,
    promisedEpoch: 7,
    lastLedEpoch: 3,
  });
  expect(target.storage.state.lossy).toBeUndefined();
  expect((await target.items()).length).toBeGreaterThan(300);

  // Pinned: everything after the copy is still in the source's log, and leads to the same state.
  const rest = await StoredReplica.entries(source.storage, 151);
  release();
  await target.storage.append({ entries: rest });
  await target.storage.apply(last);
  expect(await digestOf(target.store)).toEqual(await digestOf(source.store));
  expect(await target.items()).toEqual(await source.items());
  for (let i = 0; i < 20; i++) {
    const query = vector();
    expect(rounded(await search(target, query))).toEqual(rounded(await search(source, query)));
  }
  const terms = {
    terms: ['entry155'],
    statistics: { documentCount: 10, totalLength: 20, documentFrequencies: [2] },
    k: 20,
    filter: null,
  };
  const byKeyword = (replica: StoredReplica) => replica.shard.read('keywordSearch', terms);
  expect(await byKeyword(target)).toEqual(await byKeyword(source));

  // A copy is a replica like any other: it starts again, and can be copied.
  await closeReplica(target);
  const again = await openReplica('target');
  expect(again.log.messages('warn')).toEqual([]);
  await install('third', chunksOf(again.store));
  const third = await openReplica('third');
  expect(await digestOf(third.store)).toEqual(await digestOf(source.store));
});

test('a copy tells what was settled: a write sent again after it is not applied twice', async () => {
  const source = await openReplica('source');
  await fill(source, 1, 10);
  await install('target', chunksOf(source.store));
  const target = await openReplica('target');
  const repeat = {
    ...entry(11),
    write: {
      source: { session: 's', requestNumber: 9, settledBelow: 0 },
      payload: (entry(11).write as NonNullable<LogEntry['write']>).payload,
    },
  };
  for (const replica of [source, target]) {
    await replica.storage.append({ entries: [repeat] });
    expect(await replica.storage.apply(11)).toEqual([{ sequence: 11, result: null, duplicateOf: 9 }]);
  }
  expect(await digestOf(target.store)).toEqual(await digestOf(source.store));
});

test('a copy of a shard with nothing in it is an empty shard', async () => {
  const source = await openReplica('source');
  expect(await install('target', chunksOf(source.store))).toEqual({ sequence: 0, epoch: 0 });
  const target = await openReplica('target');
  expect(await target.items()).toEqual([]);
  expect(target.storage.state).toMatchObject({ firstSequence: 1, lastSequence: 0, promisedEpoch: 7 });
});

describe('a copy that is not whole', () => {
  let chunks: Buffer[];
  let before: Awaited<ReturnType<typeof digestOf>>;

  beforeEach(async () => {
    const source = await openReplica('source');
    const filler = Array.from({ length: 30 }, (_, i) => ({
      type: 'upsert' as const,
      externalId: `big${i}`,
      vector: vector(),
      stamp: i,
      metadata: undefined,
      text: 'x'.repeat(100_000),
    }));
    await source.storage.append({ entries: [writeEntry({ epoch: 1, sequence: 1 }, filler)] });
    await source.storage.apply(1);
    chunks = await collect(chunksOf(source.store));
    expect(chunks.length).toBeGreaterThan(3);
    const target = await openReplica('target');
    await fill(target, 1, 5);
    before = await digestOf(target.store);
    await closeReplica(target);
  });

  const flip = (chunk: Buffer, at: number): Buffer => {
    const bytes = Buffer.from(chunk);
    bytes[at] ^= 1;
    return bytes;
  };

  test.each<[string, () => Iterable<Buffer>]>([
    ['chunks in another order', () => [chunks[1], chunks[0], ...chunks.slice(2)]],
    ['a chunk twice', () => [chunks[0], ...chunks]],
    ['a chunk missing', () => [chunks[0], ...chunks.slice(2)]],
    ['the end missing', () => chunks.slice(0, -1)],
    ['nothing', () => []],
    ['something after the end', () => [...chunks, chunks[chunks.length - 1]]],
    ['a bit changed in an entry', () => [chunks[0], flip(chunks[1], 5000), ...chunks.slice(2)]],
    ['a bit changed in a chunk number', () => [chunks[0], flip(chunks[1], 5), ...chunks.slice(2)]],
    ['a chunk cut short', () => [chunks[0], chunks[1].subarray(0, -1), ...chunks.slice(2)]],
  ])('is refused for %s, and the old data stay', async (_what, damaged) => {
    await expect(install('target', damaged())).rejects.toMatchObject({ kind: 'storage_failed' });
    await settleCopy(join(root, 'target'));
    expect(existsSync(join(root, 'target.incoming'))).toBe(false);
    const target = await openReplica('target');
    expect(await digestOf(target.store)).toEqual(before);
    expect(target.storage.state.lossy).toBeUndefined();
  });

  test('is refused when the sender breaks off, and when it may no longer take the place', async () => {
    const broken = async function* (): AsyncIterable<Buffer> {
      yield chunks[0];
      throw new Error('the stream broke');
    };
    await expect(install('target', broken())).rejects.toThrow('the stream broke');
    await expect(install('target', chunks, () => false)).rejects.toMatchObject({ kind: 'unavailable' });
    const target = await openReplica('target');
    expect(await digestOf(target.store)).toEqual(before);
  });

  test('is finished or undone when a crash came between: one of the two is there, whole', async () => {
    const [folder, incoming, outgoing] = ['target', 'target.incoming', 'target.outgoing'].map((name) =>
      join(root, name),
    );
    // While it was received.
    await install('target.incoming', chunks);
    await settleCopy(folder);
    expect(existsSync(incoming)).toBe(false);
    // The old data moved aside, the new ones not yet in place.
    await install('target.incoming', chunks);
    renameSync(folder, outgoing);
    await settleCopy(folder);
    let target = await openReplica('target');
    expect(await digestOf(target.store)).toEqual(before);
    await closeReplica(target);
    // The new ones in place, the old not removed.
    await install('target.incoming', chunks);
    renameSync(folder, outgoing);
    renameSync(incoming, folder);
    await settleCopy(folder);
    expect([incoming, outgoing].map(existsSync)).toEqual([false, false]);
    target = await openReplica('target');
    expect((await target.items()).length).toBe(30);
  });
});

test('a digest tells replicas apart by any one thing, and by nothing else', async () => {
  const item = {
    type: 'upsert' as const,
    externalId: 'a',
    vector: Float32Array.from({ length: SPEC.dim }, (_, i) => i + 1),
    stamp: 5,
    metadata: '{"n":1}',
    text: 'text',
  };
  const other = { ...item, externalId: 'b', stamp: 6 };
  const digestAfter = async (
    name: string,
    writes: Parameters<typeof writeEntry>[1][],
    counted = false,
  ): Promise<string> => {
    const replica = await openReplica(name);
    await replica.storage.append({
      entries: writes.map((operations, i) =>
        writeEntry({ epoch: 1, sequence: i + 1 }, operations, { settledBelow: 0 }, counted),
      ),
    });
    for (let i = 1; i <= writes.length; i++) await replica.storage.apply(i);
    const digest = await digestOf(replica.store);
    expect(digest.items).toBe((await replay(SPEC, await StoredReplica.entries(replica.storage, 1))).items.length);
    return `${digest.content} ${digest.order}`;
  };
  const plain = await digestAfter('plain', [[item, other]]);
  // Other record numbers and slots, the same items.
  expect(await digestAfter('roundabout', [[other], [{ ...item, text: 'before' }], [item]])).toBe(plain);
  // An item that was changed has another version.
  expect(await digestAfter('counted', [[item, other]], true)).not.toBe(plain);
  const variants = [
    [[item]],
    [[{ ...item, externalId: 'c' }, other]],
    [[{ ...item, stamp: 4 }, other]],
    [[{ ...item, metadata: '{"n":2}' }, other]],
    [[{ ...item, text: 'Text' }, other]],
    [[{ ...item, text: undefined }, other]],
    [[{ ...item, vector: item.vector.map((x, i) => (i === 3 ? x + 1e-6 * x : x)) }, other]],
  ];
  const digests = new Set([plain]);
  for (const [i, variant] of variants.entries()) digests.add(await digestAfter(`variant${i}`, variant));
  expect(digests.size).toBe(1 + variants.length);
});
