import { mkdtempSync, promises, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readManifest } from '../../../../../../node/engine/shard/opening/checkpoint';
import { Checkpointer } from '../../../../../../node/engine/shard/opening/checkpointer';
import type { RecordStore } from '../../../../../../node/engine/records/record-store';
import type { ShardIndexes } from '../../../../../../node/engine/shard/shard-indexes';
import type { ShardCounters } from '../../../../../../node/engine/shard/writing/shard-writer';

/** When checkpoints are begun; here they fail at once. What they hold is tested with the shards. */

let asked: number;
let graphRows: number;
let progress: { refinedRows: number; state: 'ready' | 'refining' };
let attempts: number;
let checkpointer: Checkpointer;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  graphRows = 100;
  progress = { refinedRows: 0, state: 'ready' };
  attempts = 0;
  const indexes = {
    directory: {
      liveCount: 100,
      save: () => {
        attempts += 1;
        throw new Error('no disk');
      },
    },
    vectors: {
      status: () => {
        asked += 1;
        return { segments: [{ kind: 'sealed', rows: graphRows }], progress };
      },
      discardOtherSaves: async () => undefined,
    },
  } as unknown as ShardIndexes;
  const logger = { error: () => undefined } as never;
  checkpointer = new Checkpointer(
    {
      folder: '/nowhere',
      records: {} as RecordStore,
      indexes,
      counters: { lastOperation: 0, lastRecno: 0 } as ShardCounters,
      dim: 4,
      logger,
      wallMs: () => 0,
    },
    { manifest: null, repairs: 0 },
  );
});

afterEach(async () => {
  await checkpointer.stop();
  jest.useRealTimers();
});

test('a shard in which nothing happens is seldom asked for its graph', async () => {
  await jest.advanceTimersByTimeAsync(600_000);
  expect(attempts).toBe(0);
  expect(asked).toBeLessThan(25);
});

test('a graph that has grown is saved, within half a minute once the last checkpoint is a minute old', async () => {
  await jest.advanceTimersByTimeAsync(120_000);
  graphRows = 200;
  await jest.advanceTimersByTimeAsync(36_000);
  expect(attempts).toBe(1);
});

test('a graph that was refined is saved once all of it is, or when the shard closes', async () => {
  await jest.advanceTimersByTimeAsync(120_000);
  progress = { refinedRows: 60, state: 'refining' };
  await jest.advanceTimersByTimeAsync(600_000);
  expect(attempts).toBe(0);
  expect(checkpointer.isBehind).toBe(true);
  progress = { refinedRows: 100, state: 'ready' };
  await jest.advanceTimersByTimeAsync(36_000);
  expect(attempts).toBe(1);
});

test('the few changes that a shard was opened with are no reason to save it; one more is', async () => {
  const { parts } = checkpointer as unknown as { parts: ConstructorParameters<typeof Checkpointer>[0] };
  const opened = new Checkpointer(parts, { manifest: null, repairs: 3 });
  await jest.advanceTimersByTimeAsync(1_200_000);
  expect(attempts).toBe(0);
  expect(opened.isBehind).toBe(true);
  opened.noteChanges(1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(attempts).toBe(1);
  await opened.stop();
});

test('once it is stopped, none is begun but the closing one', async () => {
  const waiting = checkpointer.hold(async () => undefined);
  const held = checkpointer.write().catch((error: unknown) => error);
  await checkpointer.stop();
  await waiting;
  expect(await held).toMatchObject({ kind: 'unavailable' });
  await expect(checkpointer.write()).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(checkpointer.writeAnew()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(attempts).toBe(0);
  await expect(checkpointer.writeLast()).rejects.toThrow('no disk');
  expect(attempts).toBe(1);
});

test('what a checkpoint that failed has saved of the vectors goes, and what is in force stays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-checkpointer-'));
  const saves: string[] = [];
  let saved = 0;
  const empty = { save: () => [] };
  const indexes = {
    directory: { ...empty, liveCount: 100 },
    filters: empty,
    keywords: empty,
    vectors: {
      status: () => ({ segments: [], progress: { refinedRows: 0, state: 'ready' } }),
      save: async () => {
        saved += 1;
        saves.push(`save-${saved}`);
        if (isTorn) throw new Error('no space left for the rest');
        return `save-${saved}`;
      },
      discardOtherSaves: async (name: string) =>
        void saves.splice(0, saves.length, ...saves.filter((one) => one === name)),
    },
  } as unknown as ShardIndexes;
  let isFull = false;
  let isTorn = false;
  const records = {
    stabilise: async () => {
      if (isFull) throw new Error('no space left on device');
    },
    trimJournal: async () => undefined,
  } as unknown as RecordStore;
  const counters = { lastOperation: 0, lastRecno: 0 } as ShardCounters;
  const one = new Checkpointer(
    { folder, records, indexes, counters, dim: 4, logger: { error: () => undefined } as never, wallMs: () => 0 },
    { manifest: null, repairs: 0 },
  );
  isFull = true;
  await expect(one.write()).rejects.toThrow('no space left on device');
  expect(saves).toEqual([]);
  isFull = false;
  await one.write();
  isFull = true;
  for (let i = 0; i < 3; i += 1) await expect(one.write()).rejects.toThrow('no space left on device');
  expect(saves).toEqual(['save-2']);
  isTorn = true;
  await expect(one.write()).rejects.toThrow('no space left for the rest');
  expect(saves).toEqual(['save-2']);
  isTorn = false;
  isFull = false;
  // The last sync fails, when the manifest is in its place: after a crash, it or the one before is in force.
  const { open } = promises;
  const syncs = jest
    .spyOn(promises, 'open')
    .mockImplementation((path, flags, mode) =>
      path === folder ? Promise.reject(new Error('EIO')) : open(path, flags, mode),
    );
  await expect(one.write()).rejects.toThrow('EIO');
  syncs.mockRestore();
  const inForce = (await readManifest(folder))?.vectors;
  expect(inForce).toBe(`save-${saved}`);
  expect(saves).toEqual(['save-2', inForce]);
  isFull = true;
  await expect(one.write()).rejects.toThrow('no space left on device');
  expect(saves).toEqual([inForce]);
  isFull = false;
  await one.write();
  expect(saves).toEqual([`save-${saved}`]);
  await one.stop();
  rmSync(folder, { recursive: true, force: true });
});
