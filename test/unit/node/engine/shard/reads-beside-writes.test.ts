import type { IndexFactories } from '../../../../../node/engine/shard/shard-indexes';
import type { VectorIndex } from '../../../../../node/engine/vector/vector-index';
import {
  NO_TERM,
  PLAIN_STEP,
  type ShardSpec,
  type UpsertOperation,
  type WriteOperation,
} from '../../../../../shared/contract/shard/shard-client';
import { EarlyStore } from '../../../../support/shards/early-store';
import { eventually } from '../../../../support/eventually';
import {
  diskFactories,
  NO_HURRY,
  nativeFactories,
  openMemoryStore,
  openRocksStore,
  plainFactories,
  ShardNode,
} from '../../../../support/shards/shard-node';

const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'ip' };
/** More than a read of records has at once. */
const MANY = 600;

let node: ShardNode;
let store: EarlyStore;

function put(externalId: string, version: number, more: Partial<UpsertOperation> = {}): UpsertOperation {
  return {
    type: 'upsert',
    externalId,
    vector: Float32Array.of(version, 1),
    stamp: 1,
    metadata: JSON.stringify({ version }),
    text: `text ${version}`,
    ...more,
  };
}

const write = (...operations: WriteOperation[]) => node.client.write(SPEC, operations, NO_HURRY);
const fetched = (...externalIds: string[]) => node.client.read(SPEC, 'fetch', { externalIds, vectors: true }, NO_HURRY);
const scanned = () =>
  node.client.read(SPEC, 'scan', { after: null, limit: 1000, filter: null, vectors: true }, NO_HURRY);
const found = async (k = 100) =>
  (
    await node.client.read(
      SPEC,
      'search',
      { vector: Float32Array.of(1, 0), k, filter: null, effort: { type: 'exact' }, texts: true },
      NO_HURRY,
    )
  ).hits;
const itemOf = (version: number) => ({ metadata: JSON.stringify({ version }), text: `text ${version}` });
const wholeOf = (version: number) => ({ ...itemOf(version), vector: Float32Array.of(version, 1) });

async function startWith(factories: IndexFactories, open = openRocksStore): Promise<void> {
  node = await new ShardNode({
    factories,
    openStore: async (folder) => (store = new EarlyStore(await open(folder))),
  }).start();
  await node.client.make(SPEC);
}

afterEach(() => node.destroy());

describe.each([
  ['in memory', openMemoryStore],
  ['of RocksDB', openRocksStore],
])('over a store %s that shows a batch before the writer hears of it', (_name, open) => {
  beforeEach(() => startWith(nativeFactories, open));

  test.each<[string, WriteOperation[], object[]]>([
    ['replaces', [put('a', 2), put('b', 2)], [wholeOf(2), wholeOf(2)]],
    [
      'patches',
      [
        {
          type: 'patch',
          externalId: 'a',
          vector: undefined,
          text: undefined,
          metadata: { json: '{"version":2}', replaces: true, bytesMax: 1000, fieldsMax: 10 },
        },
      ],
      [{ ...wholeOf(1), metadata: '{"version":2}' }, wholeOf(1)],
    ],
    ['deletes', [{ type: 'delete', externalId: 'a' }], [wholeOf(1)]],
    [
      'deletes and puts again',
      [{ type: 'delete', externalId: 'a' }, put('a', 2, { stamp: 9 })],
      [wholeOf(1), wholeOf(2)],
    ],
  ])('reads answer at once, what was there before the batch, where it %s items', async (_what, operations, after) => {
    await write(put('a', 1), put('b', 1));
    store.hold('writes');
    const written = write(...operations);
    await eventually('the batch is in the store', () => store.waiting('writes') === 1);
    expect(await fetched('a', 'b')).toMatchObject([wholeOf(1), wholeOf(1)]);
    expect(await scanned()).toMatchObject([wholeOf(1), wholeOf(1)]);
    expect(await found()).toMatchObject([itemOf(1), itemOf(1)]);
    store.letGo('writes');
    await written;
    expect(await scanned()).toMatchObject(after);
    expect(await found()).toHaveLength(after.length);
    const [a] = await fetched('a');
    if (after.length === 1) expect(a).toBeNull();
  });

  test('a read that is answered late has what was there when it began, as a whole', async () => {
    const ids = Array.from({ length: MANY }, (_, i) => `id ${i}`);
    await write(...ids.map((id, i) => put(id, 1, { stamp: i + 1 })));
    store.hold('reads');
    const reads = [fetched(...ids), scanned(), found(MANY)];
    await eventually('all of them read', () => store.waiting('reads') === reads.length);
    // None of it reads: every text is given.
    for (const version of [2, 3]) await write(...ids.map((id, i) => put(id, version, { stamp: i + 1 })));
    store.letGo('reads');
    for (const items of await Promise.all(reads)) {
      expect(items).toHaveLength(MANY);
      for (const item of items) expect(item).toMatchObject(itemOf(1));
    }
    expect(await fetched('id 0')).toMatchObject([wholeOf(3)]);
  });

  test('a read that begins in the midst of a batch and ends behind it is right, too', async () => {
    await write(put('a', 1));
    store.hold('writes');
    store.hold('reads');
    const written = write(put('a', 2));
    await eventually('the batch is in the store', () => store.waiting('writes') === 1);
    const reads = [fetched('a'), scanned(), found()];
    await eventually('all of them read', () => store.waiting('reads') === reads.length);
    store.letGo('writes');
    await written;
    store.letGo('reads');
    for (const items of await Promise.all(reads)) expect(items).toMatchObject([itemOf(1)]);
  });

  test('the mark of a write is not told before the write is seen', async () => {
    const token = 'ab'.repeat(16);
    const marks = () => node.client.read(SPEC, 'marks', { token, after: 0, limit: 1 }, NO_HURRY);
    store.hold('writes');
    const written = write(
      {
        type: 'dedup',
        token,
        digest: 'cd'.repeat(16),
        nowMs: 1000,
        keptMs: 1000,
        bytesMax: 1_000_000,
        step: PLAIN_STEP,
        note: '',
        term: NO_TERM,
      },
      put('a', 1),
    );
    await eventually('the batch is in the store', () => store.waiting('writes') === 1);
    expect(await marks()).toEqual([]);
    expect(await fetched('a')).toEqual([null]);
    store.letGo('writes');
    await written;
    expect(await marks()).toMatchObject([{ token }]);
    expect(await fetched('a')).toMatchObject([wholeOf(1)]);
  });
});

describe.each([
  ['vectors compared one by one', plainFactories],
  ['the native index', nativeFactories],
  ['vectors on the disk', diskFactories],
])('with %s', (_name, factories) => {
  test('a search that writes overtake at each of its steps is answered', async () => {
    let overtaking = 0;
    await startWith({
      ...factories,
      openVectorIndex: async (options, save) =>
        overtaken(await factories.openVectorIndex(options, save), () => write(put('a', (overtaking += 1)))),
    });
    await write(put('a', 0), put('b', 0));
    const hits = await found(2);
    expect(overtaking).toBeGreaterThan(2);
    expect(hits.map(({ externalId }) => externalId).sort()).toEqual(['a', 'b']);
    const { score, metadata, text } = hits.find(({ externalId }) => externalId === 'a')!;
    expect({ metadata, text }).toEqual(itemOf(score));
  });
});

/** The same index, of which each answer is overtaken by a write. */
function overtaken(index: VectorIndex, overtake: () => Promise<unknown>): VectorIndex {
  return new Proxy(index, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...rest: unknown[]) => {
        const answer: unknown = value.apply(target, rest);
        if (name !== 'search' && name !== 'score') return answer;
        return (answer as Promise<unknown>).then(async (result) => {
          await overtake();
          return result;
        });
      };
    },
  });
}
