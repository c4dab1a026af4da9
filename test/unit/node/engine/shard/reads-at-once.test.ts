import type { RecordStore } from '../../../../../node/engine/records/record-store';
import type { ShardIndexes } from '../../../../../node/engine/shard/shard-indexes';
import { ShardItems } from '../../../../../node/engine/shard/reading/shard-items';
import type { ShardCounters } from '../../../../../node/engine/shard/writing/shard-writer';
import { SLICE_MS } from '../../../../../shared/base/time/work-slices';

/**
 * Reads of items that come together, each of which has little to do: how much of it is done in one round of the event
 * loop.
 */

/** What reading a step takes the thread, by the clock of this test. */
const STEP_MS = 1;

let nowMs = 0;
let spy: jest.SpyInstance;
let round = 0;
let isOver = false;
/** In which round each step was read, and how many items it had. */
let steps: { round: number; items: number }[] = [];

beforeEach(() => {
  spy = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  round = 0;
  steps = [];
  isOver = false;
  const count = (): void => {
    round += 1;
    if (!isOver) setImmediate(count);
  };
  count();
});
afterEach(async () => {
  isOver = true;
  await new Promise((wake) => setImmediate(wake));
  spy.mockRestore();
});

/** Items of which each has a text of so many characters: item 7 is called `7`. */
function itemsOf(textCharacters: (item: number) => number): ShardItems {
  const directory = {
    slotOf: (externalId: string) => Number(externalId),
    externalIdOf: (slot: number) => String(slot),
    stampOf: (slot: number) => slot + 1,
    recnoOf: (slot: number) => slot + 1,
    expiryOf: () => 0,
    metadataOf: () => '{}',
    hasText: () => true,
  };
  const records = {
    readTexts: (recnos: number[]) => {
      steps.push({ round, items: recnos.length });
      nowMs += STEP_MS;
      return Promise.resolve(recnos.map((recno) => 't'.repeat(textCharacters(recno - 1))));
    },
    *order() {
      yield Array.from({ length: 300 }, (_, i) => ({ stamp: i + 1, externalId: String(i) }));
    },
  };
  return new ShardItems({
    dim: 2,
    records: records as unknown as RecordStore,
    indexes: { directory } as unknown as ShardIndexes,
    counters: { lastRecno: 1_000, versions: { isCounting: false } } as unknown as ShardCounters,
  });
}

function mostOfARound(): number {
  const counts = new Map<number, number>();
  for (const { round: at } of steps) counts.set(at, (counts.get(at) ?? 0) + 1);
  return Math.max(...counts.values());
}

const IDS = Array.from({ length: 300 }, (_, i) => String(i));

test.each([
  ['ids', (items: ShardItems) => items.fetch({ externalIds: IDS.slice(0, 20), vectors: false, bytesMax: 1_000_000 })],
  [
    'a range',
    (items: ShardItems) => items.scan({ after: null, limit: 20, filter: null, vectors: false, bytesMax: 1_000_000 }),
  ],
])('many reads of %s at once leave the thread to others in between', async (_what, read) => {
  const items = itemsOf(() => 100);
  const answers = await Promise.all(Array.from({ length: 100 }, () => read(items)));
  for (const answer of answers) expect(answer).toHaveLength(20);
  expect(steps.length).toBeGreaterThanOrEqual(200);
  // What a round has time for, and what had its turn before anything else asked.
  expect(mostOfARound()).toBeLessThanOrEqual(2 * (SLICE_MS / STEP_MS) + 1);
});

test('items that are longer than those before them are read only few more than the answer may have', async () => {
  const items = itemsOf((item) => (item < 40 ? 1 : 100_000));
  const answer = await items.fetch({ externalIds: IDS, vectors: false, bytesMax: 1_000_000 });
  expect(answer.length).toBe(40 + 10);
  const read = steps.reduce((sum, { items: count }) => sum + count, 0);
  expect(read - answer.length).toBeLessThanOrEqual(64);
});
