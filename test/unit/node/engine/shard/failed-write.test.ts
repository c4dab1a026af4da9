import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { Shard } from '../../../../../node/engine/shard/shard';
import { WriteBudget } from '../../../../../node/engine/shard/writing/write-queue';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { FailingKeyValueStore, type WriteFault } from '../../../../support/shards/failing-key-value-store';
import { plainFactories } from '../../../../support/shards/shard-node';

/** What a shard is trusted with that was closed after one of its writes failed. */

test.each<[WriteFault, boolean]>([
  ['none', true],
  ['before', false],
  ['after', false],
])('all of its changes are on stable storage unless a write failed (%s)', async (writes, isSaved) => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-failed-write-'));
  const faults: { writes: WriteFault; reads: boolean } = { writes: 'none', reads: false };
  const options = {
    factories: plainFactories,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: silentLogger,
    openStore: async () => new FailingKeyValueStore(new MemoryKeyValueStore(), faults),
  };
  let failures = 0;
  const dependencies = {
    budget: new WriteBudget(),
    onDiverged: () => undefined,
    onWriteFailed: () => void (failures += 1),
    onDamaged: () => undefined,
  };
  try {
    const shard = await Shard.open(
      folder,
      { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' },
      options,
      dependencies,
    );
    faults.writes = writes;
    const written = shard.write([
      { type: 'upsert', externalId: 'a', vector: Float32Array.of(1, 2), stamp: 5, metadata: '{}', text: undefined },
    ]);
    if (writes === 'none') await written;
    else await expect(written).rejects.toMatchObject({ kind: 'commit_unknown' });
    faults.writes = 'none';
    await shard.close('closed');
    expect([shard.isSaved, failures]).toEqual([isSaved, writes === 'none' ? 0 : 1]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
