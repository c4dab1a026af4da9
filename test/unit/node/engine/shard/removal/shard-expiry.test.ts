import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Shard } from '../../../../../../node/engine/shard/shard';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import { ManualClock } from '../../../../../support/manual-clock';
import { LogMemory, openMemoryStore, plainFactories } from '../../../../../support/shards/shard-node';

const TTL_MS = 60_000;
/** Items that each write changes. Their former times are so many after so many writes that they are thrown out. */
const CHANGED = 30;
const WRITES = 150;

test('an item expires whose write is the one by which former times are thrown out', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-expiry-'));
  const clock = new ManualClock();
  const fail = (error: Error): void => {
    throw error;
  };
  // Nothing is removed, so that what is gone is hidden.
  const removeExpired = async (): Promise<boolean> => false;
  const options = {
    wallMs: () => clock.wallMs(),
    factories: plainFactories,
    openStore: openMemoryStore,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: new LogMemory(),
  };
  const dependencies = {
    budget: new WriteBudget(),
    onDiverged: fail,
    onWriteFailed: fail,
    onDamaged: fail,
    removeExpired,
  };
  const shard = await Shard.open(
    join(folder, '0'),
    { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' },
    options,
    dependencies,
  );
  try {
    const itemOf = (externalId: string) => ({
      type: 'upsert' as const,
      externalId,
      vector: Float32Array.of(1, 2),
      stamp: 1,
      metadata: '{}',
      text: undefined,
      ttlMs: TTL_MS,
    });
    const changed = Array.from({ length: CHANGED }, (_, i) => itemOf(`changed-${i}`));
    for (let write = 0; write < WRITES; write += 1) await shard.write([...changed, itemOf(`new-${write}`)]);
    clock.advance(TTL_MS - 1);
    expect(await shard.read('count', null)).toBe(CHANGED + WRITES);
    clock.advance(1);
    expect(await shard.read('count', null)).toBe(0);
    expect(await shard.expired(Infinity)).toHaveLength(CHANGED + WRITES);
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
