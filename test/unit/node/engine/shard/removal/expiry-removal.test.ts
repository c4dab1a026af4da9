import { mkdtempSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Shard } from '../../../../../../node/engine/shard/shard';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import type { StageOperation } from '../../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../../support/manual-clock';
import { eventually } from '../../../../../support/eventually';
import { LogMemory, openMemoryStore, plainFactories } from '../../../../../support/shards/shard-node';

const CHECK_MS = 1_000;
/** Long enough for removals that should not be there to begin. */
const ROUNDS = 500;

test('nothing is removed while a shard is filled: its gate would refuse that, and each attempt be an entry of the log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-removal-'));
  const clock = new ManualClock();
  const looks: (() => void)[] = [];
  const { setInterval: real } = globalThis;
  const spy = jest.spyOn(globalThis, 'setInterval').mockImplementation(((look: () => void, ms: number) => {
    if (ms === CHECK_MS) looks.push(look);
    return real(look, ms);
  }) as typeof setInterval);
  const fail = (error: Error): void => {
    throw error;
  };
  const asked: string[][] = [];
  const removeExpired = async (externalIds: string[]): Promise<boolean> => {
    asked.push(externalIds);
    return true;
  };
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
  spy.mockRestore();
  try {
    const stage = (name: 'filling' | 'open'): StageOperation => ({
      type: 'stage',
      stage: name,
      term: 1,
      reshard: 'r',
      forget: 0,
    });
    await shard.write([stage('filling')]);
    const item = {
      vector: Float32Array.of(1, 2),
      stamp: 1,
      version: 1,
      metadata: '{}',
      text: null,
      expiry: clock.wallMs() + 1_000,
    };
    await shard.write([{ type: 'import', externalId: 'brief', term: 1, item }]);
    clock.advance(2_000);
    for (const look of looks) look();
    for (let round = 0; round < ROUNDS; round += 1) await stat(folder);
    expect([looks.length, asked]).toEqual([1, []]);
    await shard.write([stage('open')]);
    for (const look of looks) look();
    await eventually('it is removed', () => asked.length > 0);
    expect(asked[0]).toEqual(['brief']);
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
