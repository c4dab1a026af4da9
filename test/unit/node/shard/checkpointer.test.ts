import { Checkpointer } from '../../../../node/shard/checkpointer';
import type { RecordStore } from '../../../../node/records/record-store';
import type { ShardIndexes } from '../../../../node/shard/shard-indexes';
import type { ShardCounters } from '../../../../node/shard/shard-writer';

/** When checkpoints are begun; here they fail at once. What they hold is tested with the shards. */

let asked: number;
let graphRows: number;
let attempts: number;
let checkpointer: Checkpointer;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  graphRows = 100;
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
        return { segments: [{ kind: 'sealed', rows: graphRows }] };
      },
    },
  } as unknown as ShardIndexes;
  const logger = { error: () => undefined } as never;
  checkpointer = new Checkpointer(
    { folder: '/nowhere', records: {} as RecordStore, indexes, counters: { lastOperation: 0, lastRecno: 0 } as ShardCounters, dim: 4, logger, wallMs: () => 0 },
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
