import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { ShardSpec, UpsertOperation } from '../../shared/contract/shard/shard-client';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { VectorIndex } from '../../node/engine/vector/vector-index';
import { eventually } from '../support/eventually';
import { FailingKeyValueStore, type WriteFault } from '../support/shards/failing-key-value-store';
import { NO_HURRY, ShardNode, nativeFactories, openRocksStore, plainFactories } from '../support/shards/shard-node';

const SPEC: ShardSpec = { collectionUid: 'faulty', shard: 0, dim: 2, metric: 'ip' };

function put(externalId: string, x: number, more: Partial<UpsertOperation> = {}): UpsertOperation {
  return {
    type: 'upsert',
    externalId,
    vector: Float32Array.of(x, 1),
    stamp: x,
    metadata: undefined,
    text: undefined,
    ...more,
  };
}

const faults: { writes: WriteFault; reads: boolean; vectorPuts: number; vectorSaves: number } = {
  writes: 'none',
  reads: false,
  vectorPuts: 0,
  vectorSaves: 0,
};

/** Vector indexes whose next `faults.vectorPuts` puts and `faults.vectorSaves` saves meet a full disk. */
function faultyVectors(factories: IndexFactories): IndexFactories {
  const failing = (index: VectorIndex): VectorIndex =>
    new Proxy(index, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...rest: unknown[]) => {
          if (name === 'put' && faults.vectorPuts > 0 && faults.vectorPuts-- > 0)
            throw new QuiverError('storage_failed', 'the vector index cannot use its disk');
          if (name === 'save' && faults.vectorSaves > 0 && faults.vectorSaves-- > 0)
            return Promise.reject(new QuiverError('storage_failed', 'the vector index cannot use its disk'));
          return value.apply(target, rest);
        };
      },
    });
  return {
    ...factories,
    openVectorIndex: async (options, save) => failing(await factories.openVectorIndex(options, save)),
  };
}

let node: ShardNode;
let unhandled: unknown[];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);

async function startWith(factories: IndexFactories): Promise<void> {
  const openStore = async (folder: string) => new FailingKeyValueStore(await openRocksStore(folder), faults);
  node = await new ShardNode({ factories: faultyVectors(factories), openStore }).start();
  await node.client.make(SPEC);
}

const write = (...operations: Parameters<ShardNode['client']['write']>[1]) =>
  node.client.write(SPEC, operations, NO_HURRY).then(({ outcomes }) => outcomes);
const ids = async () =>
  (await node.client.read(SPEC, 'scan', { after: null, limit: 100, filter: null, vectors: false }, NO_HURRY)).map(
    (item) => item.externalId,
  );
const found = async () =>
  (
    await node.client.read(
      SPEC,
      'search',
      { vector: Float32Array.of(1, 0), k: 100, filter: null, effort: { type: 'exact' }, texts: true },
      NO_HURRY,
    )
  ).hits.map((hit) => hit.externalId);

async function expectItems(...expected: string[]): Promise<void> {
  expect((await ids()).sort()).toEqual([...expected].sort());
  expect((await found()).sort()).toEqual([...expected].sort());
  expect(await node.client.read(SPEC, 'count', null, NO_HURRY)).toBe(expected.length);
}

beforeEach(() => {
  Object.assign(faults, { writes: 'none', reads: false, vectorPuts: 0, vectorSaves: 0 });
  unhandled = [];
  process.on('unhandledRejection', noteUnhandled);
});

afterEach(async () => {
  Object.assign(faults, { writes: 'none', reads: false, vectorPuts: 0, vectorSaves: 0 });
  await node.destroy();
  process.off('unhandledRejection', noteUnhandled);
  expect(unhandled).toEqual([]);
});

describe.each([
  ['vectors compared one by one', plainFactories],
  ['the native index', nativeFactories],
])('a shard on disk with %s', (_name, factories) => {
  beforeEach(() => startWith(factories));

  test.each<[WriteFault, string[]]>([
    ['before', ['a', 'b']],
    ['after', ['b', 'c']],
    // It is in the log and shown, and what notes that in a file failed.
    ['shown', ['b', 'c']],
  ])(
    'a write that fails %s it is in the log is commit_unknown; the shard takes no more, and reads go on',
    async (fault, afterRestart) => {
      await write(put('a', 1, { text: 'more words' }), put('b', 2, { text: 'words' }));
      faults.writes = fault;
      await expect(write({ type: 'delete', externalId: 'a' }, put('c', 3))).rejects.toMatchObject({
        kind: 'commit_unknown',
      });
      faults.writes = 'none';
      await expect(write(put('d', 4))).rejects.toMatchObject({ kind: 'storage_failed' });
      await expectItems('a', 'b');
      await (await node.host.shard(SPEC)).checkpoint();
      await node.restart();
      await node.client.make(SPEC);
      await expectItems(...afterRestart);
      expect(await write(put('d', 4), put('b', 5))).toEqual(['inserted', 'updated']);
      await expectItems(...afterRestart, 'd');
      expect((await node.client.read(SPEC, 'fetch', { externalIds: ['b'], vectors: true }, NO_HURRY))[0]).toMatchObject(
        { stamp: 2, text: 'words', vector: Float32Array.of(5, 1) },
      );
    },
  );

  test.each<[WriteFault, string[]]>([
    ['before', ['a']],
    ['after', ['a', 'b']],
  ])(
    'after a write that failed %s it was in the log the shard takes writes again by itself once its disk does',
    async (fault, stored) => {
      await write(put('a', 1));
      faults.writes = fault;
      await expect(write(put('b', 2))).rejects.toMatchObject({ kind: 'commit_unknown' });
      await expect(write(put('c', 3))).rejects.toMatchObject({ kind: 'storage_failed' });
      await expectItems('a');
      faults.writes = 'none';
      await eventually('the shard takes writes', () =>
        write(put('d', 4)).then(
          () => true,
          () => false,
        ),
      );
      await expectItems(...stored, 'd');
      await node.restart();
      await node.client.make(SPEC);
      await expectItems(...stored, 'd');
    },
  );

  test('writers that wait behind a failing one all hear of it', async () => {
    faults.writes = 'before';
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => write(put(`i${i}`, i))));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { kind: expect.stringMatching(/^(commit_unknown|storage_failed)$/) },
      });
    await expectItems();
  });

  test('a failing read of a kept text refuses the update and harms nothing', async () => {
    await write(put('a', 1, { text: 'words' }));
    faults.reads = true;
    await expect(write(put('a', 2))).rejects.toMatchObject({ kind: 'storage_failed' });
    faults.reads = false;
    expect(await write(put('a', 3))).toEqual(['updated']);
    expect((await node.client.read(SPEC, 'fetch', { externalIds: ['a'], vectors: true }, NO_HURRY))[0]).toMatchObject({
      text: 'words',
      vector: Float32Array.of(3, 1),
    });
  });

  test('a shard whose vectors cannot follow a stored write is opened anew and right again', async () => {
    await write(put('a', 1), put('b', 2));
    await (await node.host.shard(SPEC)).checkpoint();
    await write(put('c', 3));
    faults.vectorPuts = 1;
    await expect(write(put('d', 4), { type: 'delete', externalId: 'a' })).rejects.toMatchObject({
      kind: 'commit_unknown',
    });
    // The first call waits for the shard to come back.
    await expectItems('b', 'c', 'd');
    expect(await write(put('d', 5), put('a', 6))).toEqual(['updated', 'inserted']);
    await node.restart();
    await node.client.make(SPEC);
    await expectItems('a', 'b', 'c', 'd');
  });

  test('when it cannot be opened anew either, calls fail unavailable at once until it can', async () => {
    await write(put('a', 1));
    // The write, and the repairs of each attempt until the disk is good again.
    faults.vectorPuts = 1_000;
    await expect(write(put('b', 2))).rejects.toMatchObject({ kind: 'commit_unknown' });
    await expect(ids()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(write(put('c', 3))).rejects.toMatchObject({ kind: 'unavailable' });
    faults.vectorPuts = 0;
    await eventually('the shard is back', () =>
      ids().then(
        () => true,
        () => false,
      ),
    );
    await expectItems('a', 'b');
  });

  test('a shard that waits to be opened anew can be dropped, and a node with one can be stopped', async () => {
    await write(put('a', 1));
    faults.vectorPuts = 1_000;
    await expect(write(put('b', 2))).rejects.toMatchObject({ kind: 'commit_unknown' });
    await expect(ids()).rejects.toMatchObject({ kind: 'unavailable' });
    await node.client.drop(SPEC);
    await expect(ids()).rejects.toMatchObject({ kind: 'not_found' });
    expect(existsSync(join(node.folder, 'shards', 'faulty'))).toBe(false);
    faults.vectorPuts = 0;
    await node.client.make(SPEC);
    await write(put('a', 1));
    faults.vectorPuts = 1_000;
    await expect(write(put('b', 2))).rejects.toMatchObject({ kind: 'commit_unknown' });
    await node.stop();
    faults.vectorPuts = 0;
    await node.start();
    await node.client.make(SPEC);
    await expectItems('a', 'b');
  });

  test('a checkpoint that finds the disk full leaves nothing behind and the last one in force', async () => {
    const folder = join(node.folder, 'shards', 'faulty', '0');
    await write(put('a', 1));
    await (await node.host.shard(SPEC)).checkpoint();
    const inForce = readdirSync(folder).filter((name) => name.startsWith('checkpoint-'));
    await write(put('b', 2));
    faults.vectorSaves = 1;
    await expect((await node.host.shard(SPEC)).checkpoint()).rejects.toMatchObject({ kind: 'storage_failed' });
    expect(readdirSync(folder).filter((name) => name.startsWith('checkpoint-'))).toEqual(inForce);
    await write(put('c', 3));
    faults.vectorSaves = 1;
    await node.restart();
    expect(node.log.messages('error')).toContain(
      'the closing checkpoint failed; the next start repairs from the records',
    );
    await node.client.make(SPEC);
    expect(node.log.messages('warn')).toEqual([]);
    await expectItems('a', 'b', 'c');
    await (await node.host.shard(SPEC)).checkpoint();
    expect(readdirSync(folder).filter((name) => name.startsWith('checkpoint-'))).toHaveLength(1);
  });

  test('writes that are queued when the node stops are stored, and later calls fail unavailable', async () => {
    const writes = Array.from({ length: 30 }, (_, i) => write(put(`i${i}`, i)));
    // Calls find their shard in the turn after.
    await new Promise((turn) => setImmediate(turn));
    const stopping = node.stop();
    await expect(write(put('late', 1))).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(Promise.all(writes)).resolves.toHaveLength(30);
    await stopping;
    await expect(ids()).rejects.toMatchObject({ kind: 'unavailable' });
    await node.start();
    await node.client.make(SPEC);
    expect(await node.client.read(SPEC, 'count', null, NO_HURRY)).toBe(30);
  });

  test('a shard is refused under another dimension or metric, open or not', async () => {
    const other = { ...SPEC, dim: 3 };
    await expect(node.client.make(other)).rejects.toMatchObject({ kind: 'storage_failed' });
    await node.restart();
    await expect(node.client.make(other)).rejects.toMatchObject({ kind: 'storage_failed' });
    await node.client.make(SPEC);
    await expectItems();
  });

  test('what could be stored but never applied is refused before it is stored', async () => {
    const bad: UpsertOperation[] = [
      put('a', 1, { vector: Float32Array.of(1, 2, 3) }),
      put('', 1),
      put('a', 1, { metadata: '[1]' }),
      put('a', 1, { metadata: '{"a":' }),
      put('a', NaN),
    ];
    for (const operation of bad) {
      const [refused, beside] = await Promise.allSettled([write(operation), write(put('good', 1))]);
      expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'internal' } });
      expect(beside).toMatchObject({ status: 'fulfilled' });
    }
    await expectItems('good');
  });
});
