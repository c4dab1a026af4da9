import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { BoundedWrites } from '../../../../../coordinator/service/vectors/bounded-writes';
import type { ItemWrites } from '../../../../../coordinator/service/vectors/item-writes';
import { storedBytesOf } from '../../../../../coordinator/service/vectors/stored-bytes';
import { NO_VERSION, type UpsertOperation } from '../../../../../shared/contract/shard/shard-client';
import { addQuotaMetrics } from '../../../../../coordinator/api/metrics/quota-metrics';
import type { KeyWriter, Written } from '../../../../../coordinator/service/keys/quota/key-quota';
import type { Once } from '../../../../../coordinator/service/idempotency/write-dedup';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';
import { metricsOfProcess, samples } from '../../../../support/processes/metrics-of-process';
import { item, newCollection, plainService, type PlainService } from '../../../../support/shards/plain-service';

/** What is refused because of a quota, and what is counted as refused. */

const COLLECTION = 'bounded';
const writer: KeyWriter = { identity: 'key:7', quota: { items: 4, bytes: null, period: 'total' } };

let plain: PlainService;
let metrics: ReturnType<typeof metricsOfProcess>['metrics'];

beforeEach(async () => {
  plain = await plainService();
  const { quotas, keyQuotas, catalog } = plain.service;
  ({ metrics } = metricsOfProcess());
  addQuotaMetrics(metrics, {
    quotas,
    keyQuotas,
    keys: () => [{ id: 7, quota: writer.quota }],
    collections: () => catalog.list(),
  });
});
afterEach(async () => {
  await plain.service.keyQuotas.close();
  plain.service.close();
});

function onceOf(name: string, repeated: () => void = () => undefined): Once {
  return { token: name.padEnd(32, '0'), digest: name.padEnd(32, '1'), sealingKey: 'e'.repeat(64), repeated };
}

test.each(['collection', 'key'])(
  'an answer that is repeated is no refusal of the quota of a %s; a write that is refused is one',
  async (whose) => {
    const { collections, vectors, quotas, keyQuotas } = plain.service;
    await collections.create({
      ...newCollection(COLLECTION),
      quota: whose === 'collection' ? { items: 4, bytes: null } : null,
    });
    const mode = whose === 'key' ? { writer } : {};
    const refusals = (): number => (whose === 'key' ? keyQuotas : quotas).refusals;
    let repetitions = 0;
    const first = () =>
      vectors.upsert(COLLECTION, [item('a', [1, 0]), item('b', [0, 1])], {
        ...mode,
        once: onceOf('first', () => (repetitions += 1)),
      });
    const { versions } = await first();
    await vectors.upsert(COLLECTION, [item('c', [1, 1]), item('d', [2, 1])], mode);
    expect((await first()).versions).toEqual(versions);
    expect([repetitions, refusals()]).toEqual([1, 0]);
    await expect(vectors.upsert(COLLECTION, [item('e', [1, 1])], mode)).rejects.toMatchObject({
      kind: 'limit_exceeded',
    });
    await expect(
      vectors.upsert(COLLECTION, [item('e', [1, 1])], { ...mode, once: onceOf('other') }),
    ).rejects.toMatchObject({ kind: 'limit_exceeded' });
    expect(refusals()).toBe(2);
    expect((await first()).versions).toEqual(versions);
    expect([repetitions, refusals()]).toEqual([2, 2]);
  },
);

test('a change of what matches is refused step by step, and says how far it came; done once, it goes on from there', async () => {
  const { collections, vectors, keyQuotas } = plain.service;
  await collections.create(newCollection(COLLECTION, { dim: 4096 }));
  const vector = Array.from({ length: 4096 }, (_, i) => i);
  // More than one step: a step has 16 MiB of vectors.
  await vectors.upsert(
    COLLECTION,
    Array.from({ length: 1_500 }, (_, i) => item(`id-${i}`, vector, { metadata: { a: 1 } })),
  );
  const change = { metadata: { json: '{"b":2}', replaces: false, bytesMax: 1_000, fieldsMax: 10 } };
  const filter = parseFilter({ a: 1 })!;
  const update = (items: number, once?: Once) =>
    vectors.updateByFilter(COLLECTION, filter, change, {
      once,
      writer: { ...writer, quota: { ...writer.quota, items } },
    });
  await expect(update(1_100)).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(
      /^1000 vectors were updated, then: API key 7 has stored 1000 items, and 500 more are beyond/,
    ),
  });
  await expect(update(2_100, onceOf('update'))).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(/^1000 vectors were updated, then/),
  });
  expect(await update(2_500, onceOf('update'))).toEqual({ updatedCount: 1_500 });
  expect(await keyQuotas.usedOf({ ...writer, quota: { ...writer.quota, items: 2_500 } })).toMatchObject({
    items: 2_500,
  });
  expect(await update(2_500, onceOf('update'))).toEqual({ updatedCount: 1_500 });
  expect(keyQuotas.refusals).toBe(2);
});

test('a write of which nothing is stored takes nothing of a quota, and one whose outcome is unknown all', async () => {
  const { collections, vectors, keyQuotas } = plain.service;
  await collections.create(newCollection(COLLECTION));
  await vectors.upsert(COLLECTION, [item('a', [1, 0])], { writer });
  await expect(
    vectors.upsert(COLLECTION, [{ ...item('a', [1, 0]), expected: NO_VERSION }], { writer }),
  ).rejects.toMatchObject({ kind: 'conflict' });
  expect(await keyQuotas.usedOf(writer)).toMatchObject({ items: 1 });
  expect(await samples(metrics, 'quiver_key_quota_')).toEqual([
    'quiver_key_quota_items{key_id="7"} 4',
    'quiver_key_quota_refusals 0',
    'quiver_key_quota_used_items{key_id="7"} 1',
  ]);
  const failing = jest
    .spyOn(plain.shards, 'write')
    .mockRejectedValue(new QuiverError('unavailable', 'the shard is gone'));
  await expect(vectors.upsert(COLLECTION, [item('b', [1, 0])], { writer })).rejects.toThrow();
  failing.mockRestore();
  expect(await keyQuotas.usedOf(writer)).toMatchObject({ items: 2 });
});

test('an item counts by what it is sent with, and one that is patched by all that is stored anew', () => {
  expect(storedBytesOf({ externalId: 'ä', metadata: '{"a":1}', text: 'text' }, 3)).toBe(2 + 12 + 7 + 4);
  const patch = { json: '{"b":2}', replaces: false, bytesMax: 100, fieldsMax: 10 };
  expect(storedBytesOf({ externalId: 'id', metadata: patch, text: undefined }, 2, '{"a":1}')).toBe(2 + 8 + 7 + 7);
});

test('what has vectors of another model by the time it is stored counts with these', async () => {
  const counted: (Written | null)[] = [];
  const remade = { dim: 6 } as CollectionRecord;
  const bounded = new BoundedWrites({
    writes: {
      write: async (...[, operations, , , , remake]: Parameters<ItemWrites['write']>) => {
        await remake!(remade, operations.slice(1));
        return operations.map(() => ({ outcome: 'inserted', version: 1 }));
      },
    },
    keyQuotas: { take: async () => 1, settle: (_: unknown, stored: Written | null) => void counted.push(stored) },
  } as unknown as ConstructorParameters<typeof BoundedWrites>[0]);
  const operations = ['a', 'b'].map((externalId): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2),
    stamp: 1,
    metadata: '{}',
    text: undefined,
  }));
  const collection = { ...remade, dim: 2 };
  await bounded.write(collection, operations, { deadlineMs: Infinity }, { writer, remake: async () => undefined });
  expect(counted).toEqual([{ items: 2, bytes: 2 * storedBytesOf(operations[0], 6) }]);
});
