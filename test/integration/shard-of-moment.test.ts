import { mkdtempSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupRepository } from '../../coordinator/jobs/backup/backup-repository';
import { SettledWrites } from '../../node/replication/settled-writes';
import { Shard } from '../../node/engine/shard/shard';
import type { ShardOptions } from '../../node/engine/shard/shard-options';
import { WriteBudget } from '../../node/engine/shard/writing/write-queue';
import { LogShipping } from '../../node/replication/shipping/log-shipping';
import type { BackedUpShard } from '../../shared/backup-store/backup-format';
import type { Logger } from '../../shared/base/logs/logger';
import type { ShardBackupState } from '../../shared/contract/shard/shard-backup';
import type { PatchOperation, UpsertOperation } from '../../shared/contract/shard/shard-client';
import { ManualClock } from '../support/manual-clock';
import { Pace } from '../../shared/base/time/pace';
import { MemoryTarget } from '../support/targets/memory-target';
import { LogMemory, NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';

/** How often a shard looks for items that have expired. */
const CHECK_MS = 1_000;
/** Long enough for a write that should not be there to be over. */
const ROUNDS = 2_000;
const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' } as const;
const BACKUP = '20260101T000000Z-00000000';

/** `before` is asked before an object is read. */
class AskingTarget extends MemoryTarget {
  before: (key: string) => Promise<void> = async () => undefined;

  override async get(key: string): Promise<Buffer | null> {
    await this.before(key);
    return super.get(key);
  }
}

const target = new AskingTarget();
const clock = new ManualClock();
let folder: string;

beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-of-moment-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => jest.restoreAllMocks());

const place = (log?: 'own'): NonNullable<ShardOptions['backups']> => ({
  open: () => target,
  pace: new Pace(Infinity),
  log,
  wallMs: () => clock.wallMs(),
  ledger: (stored) => SettledWrites.load(stored),
});

async function backedUp(shard: Shard): Promise<BackedUpShard> {
  for (;;) {
    const state: ShardBackupState = await shard.read('backup', { backup: BACKUP, target: 'memory', base: null });
    if (state.manifest !== null && state.position !== null)
      return {
        manifest: state.manifest,
        items: state.items,
        totalBytes: state.totalBytes,
        needs: state.needs,
        position: state.position,
      };
    if (state.state !== 'running') throw new Error(`the backup failed: ${state.error}`);
    await new Promise((wake) => setImmediate(wake));
  }
}

test('an item that was given more time after the backup is there, however long its log takes to come', async () => {
  const fail = (error: Error): void => {
    throw error;
  };
  const dependencies = { budget: new WriteBudget(), onDiverged: fail, onWriteFailed: fail, onDamaged: fail };
  const options = {
    wallMs: () => clock.wallMs(),
    factories: plainFactories,
    openStore: openRocksStore,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: new LogMemory(),
    backups: place('own'),
  };
  const shard = await Shard.open(join(folder, 'source'), SPEC, options, dependencies);
  const at = clock.wallMs();
  const upsert = (externalId: string): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2),
    stamp: 1,
    metadata: '{}',
    text: externalId,
    expiresAt: at + 1_000,
  });
  await shard.write([upsert('prolonged'), upsert('expired')]);
  const shards = [await backedUp(shard)];
  const repository = new BackupRepository(target, () => clock.wallMs());
  const time = new Date(at).toISOString();
  const collections = [{ name: 'c', uid: 'c', record: JSON.stringify({ name: 'c' }), shards }];
  await repository.publish({
    id: BACKUP,
    startedAt: time,
    finishedAt: time,
    version: '',
    scheduled: false,
    collections,
    keys: [],
    copiedBytes: 0,
    totalBytes: 0,
  });
  clock.advance(500);
  const prolonged: PatchOperation = {
    type: 'patch',
    externalId: 'prolonged',
    vector: undefined,
    metadata: undefined,
    text: undefined,
    expiresAt: at + 1e9,
  };
  await shard.write([prolonged]);
  const shipping = new LogShipping({
    member: 'm',
    logs: () => [shard.log!],
    target,
    pace: new Pace(Infinity),
    clock,
    everyMs: 1000,
    log: new LogMemory() as unknown as Logger,
  });
  await shipping.round();
  const upTo = [shard.log!.view()!.committed];
  await shard.close();

  // By now both have expired, as the backup has them. What the shard does by itself comes before what its log says.
  clock.advance(60_000);
  const looks: (() => void)[] = [];
  const { setInterval: real } = globalThis;
  jest.spyOn(globalThis, 'setInterval').mockImplementation(((look: () => void, ms: number) => {
    if (ms === CHECK_MS) looks.push(look);
    return real(look, ms);
  }) as typeof setInterval);
  let asked = 0;
  target.before = async (key) => {
    if (!key.startsWith('log/')) return;
    asked += looks.length;
    for (const look of looks) look();
    for (let round = 0; round < ROUNDS; round += 1) await stat(folder);
  };
  const node = await new ShardNode({
    factories: plainFactories,
    openStore: openRocksStore,
    clock,
    backups: place(),
  }).start();
  try {
    await node.client.make({
      ...SPEC,
      collectionUid: 'new',
      seed: { target: 'memory', backup: BACKUP, collectionUid: 'c', shards: 1, log: { upTo } },
    });
    expect(asked).toBeGreaterThan(0);
    const items = await node.client.read(
      { collectionUid: 'new', shard: 0 },
      'scan',
      { after: null, limit: 10, filter: null, vectors: false, expiries: true },
      NO_HURRY,
    );
    expect(items.map(({ externalId, expiry }) => [externalId, expiry])).toEqual([['prolonged', at + 1e9]]);
  } finally {
    await node.destroy();
  }
});
