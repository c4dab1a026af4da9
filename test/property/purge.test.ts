import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Shard } from '../../node/engine/shard/shard';
import { WriteBudget } from '../../node/engine/shard/writing/write-queue';
import { operationsToBytes, stampMoment } from '../../shared/contract/writes/operation-codec';
import { METADATA_STORAGES } from '../../shared/contract/shard/metadata-storage';
import type { ShardSpec, UpsertOperation, WriteOperation } from '../../shared/contract/shard/shard-client';
import type { ReplicaPurge } from '../../shared/contract/shard/shard-purge';
import { ManualClock } from '../support/manual-clock';
import { Pace } from '../../shared/base/time/pace';
import { eventually } from '../support/eventually';
import { filesWith } from '../support/shards/files-below';
import { runSeed, seededRandom } from '../support/values/random';
import {
  LogMemory,
  NO_HURRY,
  ShardNode,
  diskFactories,
  nativeFactories,
  openRocksStore,
  plainFactories,
} from '../support/shards/shard-node';

const DIM = 32;
const SPEC: ShardSpec = { collectionUid: 'purged', shard: 0, dim: DIM, metric: 'cosine' };

test.each([...METADATA_STORAGES.map((metadata) => [metadata, 'memory'] as const), ['memory', 'disk'] as const])(
  'after a purge no file, with metadata in %s and vectors in %s, holds a vector, a text or metadata that were deleted, replaced or had expired; what is there stays',
  async (metadata, vectors) => {
    const spec: ShardSpec = { ...SPEC, metadata, vectors };
    const random = seededRandom(runSeed('purge'));
    const clock = new ManualClock();
    // Characters that a compression can't shorten much: a word is found as it is, because records of one item are not
    // alike.
    const word = (): string =>
      Array.from({ length: 24 }, () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(random() * 26)]).join('');
    const item = (externalId: string, more: Partial<UpsertOperation> = {}): UpsertOperation => ({
      type: 'upsert',
      externalId,
      vector: Float32Array.from({ length: DIM }, () => random() * 2 - 1),
      stamp: 1000,
      metadata: JSON.stringify({ note: word(), tag: [word()] }),
      text: `${word()} ${word()}`,
      ...more,
    });
    const needlesOf = ({ vector, metadata, text }: UpsertOperation): { vector: Buffer; texts: Buffer[] } => {
      const { note, tag } = JSON.parse(metadata!) as { note: string; tag: [string] };
      return {
        vector: Buffer.from(vector.buffer),
        texts: [note, ...tag, ...text!.split(' ')].map((part) => Buffer.from(part)),
      };
    };
    const node = await new ShardNode({
      factories: vectors === 'disk' ? diskFactories : nativeFactories,
      openStore: openRocksStore,
      clock,
    }).start();
    const folder = join(node.folder, 'shards', 'purged', '0');
    try {
      await node.client.make(spec);
      const kept = Array.from({ length: 100 }, (_, i) => item(`kept-${i}`));
      const deleted = Array.from({ length: 8 }, (_, i) => item(`deleted-${i}`));
      const replaced = Array.from({ length: 8 }, (_, i) => item(`kept-${i}`));
      const expired = Array.from({ length: 8 }, (_, i) => item(`expired-${i}`, { expiresAt: clock.wallMs() + 1000 }));
      const gone = [...deleted, ...replaced, ...expired].map(needlesOf);
      await node.client.write(spec, [...deleted, ...replaced, ...expired], NO_HURRY);
      await (await node.host.shard(spec)).checkpoint();
      await node.client.write(
        spec,
        [...kept, ...deleted.map(({ externalId }) => ({ type: 'delete' as const, externalId }))],
        NO_HURRY,
      );
      clock.advance(1000);
      const before = await node.client.read(
        spec,
        'scan',
        { after: null, limit: 1000, filter: null, vectors: true },
        NO_HURRY,
      );
      expect(before).toHaveLength(100);
      // They are in the store's log and in the saved vectors at least.
      for (const needles of [gone.map(({ vector }) => vector), gone.flatMap(({ texts }) => texts)])
        expect(filesWith(folder, needles).length).toBeGreaterThanOrEqual(2);

      // By it, a backup goes on with what an earlier one has.
      writeFileSync(join(folder, 'backup-lineage'), 'a lineage');
      const purge = async (start: boolean): Promise<ReplicaPurge> =>
        (await node.client.read(spec, 'purge', { start }, NO_HURRY))[0];
      expect(await purge(true)).toMatchObject({ state: 'running', error: '' });
      // Writes go on.
      await node.client.write(spec, [item('later')], NO_HURRY);
      await eventually('the purge is over', async () => (await purge(false)).state !== 'running');
      const done = await purge(false);
      expect(done).toMatchObject({ state: 'done', error: '' });
      // The checkpoint before had fewer items, and files take blocks of the disk. A second copy would be more.
      expect(done.bytesAfter).toBeLessThanOrEqual(done.bytesBefore + 65_536);
      expect(existsSync(join(folder, 'backup-lineage'))).toBe(false);
      for (const needles of [gone.map(({ vector }) => vector), gone.flatMap(({ texts }) => texts)])
        expect(filesWith(folder, needles)).toEqual([]);

      const after = async () =>
        (
          await node.client.read(spec, 'scan', { after: null, limit: 1000, filter: null, vectors: true }, NO_HURRY)
        ).filter(({ externalId }) => externalId !== 'later');
      expect(await after()).toEqual(before);
      await node.restart();
      await node.client.make(spec);
      expect(await after()).toEqual(before);
      expect(await node.client.read(spec, 'count', null, NO_HURRY)).toBe(101);
    } finally {
      await node.destroy();
    }
  },
);

test('a purge waits for what is kept until it is shipped, and then nothing of it is in any file', async () => {
  const backups = { open: () => never(), pace: new Pace(Infinity), log: 'own' as const, ledger: () => never() };
  const node = await new ShardNode({ factories: plainFactories, openStore: openRocksStore, backups }).start();
  try {
    await node.client.make(SPEC);
    const needle = 'qzjxkvwpyfhgbdmclrtn';
    const vector = new Float32Array(DIM).fill(1);
    await node.client.write(
      SPEC,
      [{ type: 'upsert', externalId: 'gone', vector, stamp: 1, metadata: '{}', text: needle }],
      NO_HURRY,
    );
    await node.client.write(SPEC, [{ type: 'delete', externalId: 'gone' }], NO_HURRY);
    const purge = async (start: boolean): Promise<ReplicaPurge> =>
      (await node.client.read(SPEC, 'purge', { start }, NO_HURRY))[0];
    await purge(true);
    await eventually('it says what it waits for', async () => (await purge(false)).unshipped === 2);
    expect(await purge(false)).toMatchObject({ state: 'running', step: 'log' });
    const [log] = node.host.logs();
    expect((await log.entries(1, Infinity)).map(({ sequence }) => sequence)).toEqual([1, 2]);
    log.shipped({ sequence: 1, epoch: 1, at: 0 });
    await eventually('it says what is left', async () => (await purge(false)).unshipped === 1);
    log.shipped({ sequence: 2, epoch: 1, at: 0 });
    await eventually('the purge is over', async () => (await purge(false)).state !== 'running');
    expect(await purge(false)).toMatchObject({ state: 'done', unshipped: 0, error: '' });
    expect(filesWith(node.folder, [Buffer.from(needle)])).toEqual([]);
  } finally {
    await node.destroy();
  }
});

test('a purge of a follower waits until its primary has removed what had expired', async () => {
  const clock = new ManualClock();
  const folder = mkdtempSync(join(tmpdir(), 'quiver-purge-'));
  const failed = (error: Error): void => {
    throw error;
  };
  const steps: string[] = [];
  let isAsked = false;
  const removeExpired = async (): Promise<boolean> => {
    isAsked = true;
    return false;
  };
  const dependencies = {
    budget: new WriteBudget(),
    onDiverged: failed,
    onWriteFailed: failed,
    onDamaged: failed,
    removeExpired,
    trimLog: async () => void steps.push('log'),
  };
  const options = {
    factories: plainFactories,
    openStore: openRocksStore,
    recallTarget: 0.99,
    buildThreads: 1,
    logger: new LogMemory(),
    wallMs: () => clock.wallMs(),
  };
  const shard = await Shard.open(join(folder, '0'), SPEC, options, dependencies);
  const logged = async (operation: WriteOperation): Promise<void> => {
    const payload = operationsToBytes([operation]);
    stampMoment(payload, clock.wallMs());
    await shard.applyLogged([payload], () => []);
  };
  const purge = async (start: boolean): Promise<ReplicaPurge> => (await shard.read('purge', { start }))[0];
  const needle = 'wkxzqjvhtnbrplmgdfcs';
  try {
    const vector = new Float32Array(DIM).fill(1);
    await logged({
      type: 'upsert',
      externalId: 'brief',
      vector,
      stamp: 1,
      metadata: '{}',
      text: needle,
      expiresAt: clock.wallMs() + 1000,
    });
    await logged({
      type: 'upsert',
      externalId: 'later',
      vector,
      stamp: 1,
      metadata: '{}',
      text: 'another',
      expiresAt: clock.wallMs() + 20_000,
    });
    clock.advance(1500);
    await purge(true);
    await eventually('it has found what had expired', () => isAsked);
    // One that waited for nothing would be over after some of these.
    for (let turns = 0; turns < 50; turns += 1) await shard.read('count', null);
    await new Promise((wake) => setImmediate(wake));
    steps.push('removed');
    expect(filesWith(folder, [Buffer.from(needle)])).not.toEqual([]);
    await logged({ type: 'expire', externalId: 'brief' });
    await eventually('the purge is over', async () => (await purge(false)).state !== 'running');
    expect(await purge(false)).toMatchObject({ state: 'done', error: '' });
    expect(steps).toEqual(['removed', 'log']);
    expect(filesWith(folder, [Buffer.from(needle)])).toEqual([]);
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

function never(): never {
  throw new Error('not asked for');
}
