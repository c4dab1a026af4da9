import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordStore } from '../../../../../../node/engine/records/record-store';
import type { ShardReader } from '../../../../../../node/engine/shard/reading/answer-read';
import type { Checkpointer } from '../../../../../../node/engine/shard/opening/checkpointer';
import { Shard } from '../../../../../../node/engine/shard/shard';
import type { ShardIndexes } from '../../../../../../node/engine/shard/shard-indexes';
import { ShardPurge } from '../../../../../../node/engine/shard/removal/shard-purge';
import { WriteBudget } from '../../../../../../node/engine/shard/writing/write-queue';
import { ManualClock } from '../../../../../support/manual-clock';
import { eventually } from '../../../../../support/eventually';
import { LogMemory, openMemoryStore, plainFactories } from '../../../../../support/shards/shard-node';

test('one that is asked for while another is under way follows it, and both count as one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-purge-'));
  const fail = (error: Error): void => {
    throw error;
  };
  const trims: (() => void)[] = [];
  const shard = await Shard.open(
    join(folder, 'shard'),
    { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine' },
    {
      factories: plainFactories,
      openStore: openMemoryStore,
      recallTarget: 0.99,
      buildThreads: 1,
      logger: new LogMemory(),
    },
    {
      budget: new WriteBudget(),
      onDiverged: fail,
      onWriteFailed: fail,
      onDamaged: fail,
      trimLog: () => new Promise<void>((done) => trims.push(done)),
    },
  );
  try {
    const purge = async (start: boolean) => (await shard.read('purge', { start }))[0];
    await purge(true);
    await eventually('it has begun', () => trims.length === 1);
    const states: string[] = [(await purge(true)).state, (await purge(true)).state];
    trims[0]();
    await eventually('another one has begun', async () => {
      states.push((await purge(false)).state);
      return trims.length === 2;
    });
    expect(new Set(states)).toEqual(new Set(['running']));
    trims[1]();
    await eventually('both are over', async () => (await purge(false)).state === 'done');
    expect(trims).toHaveLength(2);
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A replica that follows does not remove what has expired: its primary does, by the log. */
test('the purge of a replica that follows waits until its primary has removed what has expired', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-purge-'));
  const clock = new ManualClock();
  const wallMs = (): number => clock.wallMs();
  const fail = (error: Error): void => {
    throw error;
  };
  let asked = 0;
  const shard = await Shard.open(
    join(folder, 'shard'),
    { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine' },
    {
      factories: plainFactories,
      openStore: openMemoryStore,
      wallMs,
      recallTarget: 0.99,
      buildThreads: 1,
      logger: new LogMemory(),
    },
    {
      budget: new WriteBudget(),
      onDiverged: fail,
      onWriteFailed: fail,
      onDamaged: fail,
      removeExpired: async () => (asked += 1) === 0,
    },
  );
  try {
    const item = { type: 'upsert' as const, vector: Float32Array.of(1, 2), stamp: 1, metadata: '{}', text: undefined };
    await shard.write([
      { ...item, externalId: 'over', expiresAt: clock.wallMs() + 1000 },
      { ...item, externalId: 'later', expiresAt: clock.wallMs() + 2000 },
      { ...item, externalId: 'stays' },
    ]);
    clock.advance(1000);
    const purge = async (start: boolean) => (await shard.read('purge', { start }))[0];
    await purge(true);
    await eventually('the replica was asked to remove it', () => asked > 0);
    expect(await purge(false)).toMatchObject({ state: 'running', step: 'expired' });
    // What expires after it began is not waited for.
    clock.advance(1000);
    expect(await shard.read('count', null)).toBe(1);
    await shard.write([{ type: 'expire', externalId: 'over' }]);
    await eventually('the purge is over', async () => (await purge(false)).state !== 'running');
    expect(await purge(false)).toMatchObject({ state: 'done', error: '' });
    expect(await shard.expired(10)).toEqual(['later']);
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a purge writes nothing into the folder of a shard that was dropped meanwhile', async () => {
  const root = mkdtempSync(join(tmpdir(), 'quiver-purge-'));
  const folder = join(root, 'shard');
  const fail = (error: Error): void => {
    throw error;
  };
  const trims: (() => void)[] = [];
  const log = new LogMemory();
  const shard = await Shard.open(
    folder,
    { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine' },
    { factories: plainFactories, openStore: openMemoryStore, recallTarget: 0.99, buildThreads: 1, logger: log },
    {
      budget: new WriteBudget(),
      onDiverged: fail,
      onWriteFailed: fail,
      onDamaged: fail,
      trimLog: () => new Promise<void>((done) => trims.push(done)),
    },
  );
  try {
    await shard.write([
      { type: 'upsert', externalId: 'a', vector: Float32Array.of(1, 2), stamp: 1, metadata: '{}', text: undefined },
    ]);
    await shard.read('purge', { start: true });
    await eventually('it waits for the log', () => trims.length === 1);
    // Another one is asked for, and is not begun either.
    await shard.read('purge', { start: true });
    await shard.close('dropped');
    rmSync(folder, { recursive: true });
    trims[0]();
    // Whoever asks a closed shard is refused.
    const { purge } = (shard as unknown as { reader: ShardReader }).reader;
    await eventually('the purge is over', () => purge.advance(false)[0].state !== 'running');
    expect(existsSync(folder)).toBe(false);
    expect(purge.advance(false)).toMatchObject([{ state: 'failed', step: 'vectors' }]);
    expect(trims).toHaveLength(1);
    expect([log.messages('error'), log.messages('info')]).toEqual([
      [],
      ['a purge of a shard was cut off, because the shard is closed'],
    ]);
  } finally {
    await shard.close();
    rmSync(root, { recursive: true, force: true });
  }
});

test('a purge that is closed lets go of the directory first, in the middle of its rewrite', async () => {
  const went: string[] = [];
  let steps = 0;
  const directory = {
    *rewriteInSteps() {
      try {
        for (; went.length === 0; steps++) yield;
      } finally {
        went.push('let go');
      }
    },
  };
  const purge = new ShardPurge({
    records: { purge: async () => void went.push('records') } as unknown as RecordStore,
    indexes: { vectors: { purge: async () => undefined }, directory, phrases: {} } as unknown as ShardIndexes,
    checkpointer: { writeAnew: async () => void went.push('checkpoint') } as unknown as Checkpointer,
    logger: new LogMemory(),
    removeExpired: async () => undefined,
    trimLog: async () => undefined,
    folder: '/nowhere',
  });
  purge.advance(true);
  try {
    await eventually('it rewrites the directory', () => steps > 0);
    await purge.close();
    went.push('closed');
    await eventually('it is over', () => purge.advance(false)[0].state !== 'running');
    expect(purge.advance(false)).toMatchObject([{ state: 'failed', step: 'directory' }]);
    expect(went).toEqual(['let go', 'closed']);
  } finally {
    went.push('over');
  }
});
