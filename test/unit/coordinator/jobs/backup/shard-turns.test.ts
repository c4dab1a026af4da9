import { ShardTurns } from '../../../../../coordinator/jobs/backup/shard-turns';

/** Whose turn it is of the shards of a backup. */

const MINUTE_MS = 60_000;
let nowMs = 0;
let turns: ShardTurns;

beforeEach(() => {
  nowMs = 0;
  turns = new ShardTurns(() => nowMs);
});

const settled = async (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

test('four are asked at a time, and one that is silent gives its place to the next', async () => {
  const all = Array.from({ length: 6 }, () => turns.begin());
  const coming = all.map((turn) => turn.come());
  expect(await Promise.all(coming.map(settled))).toEqual([true, true, true, true, false, false]);
  expect(all[0].silent()).toBe(false);
  expect(await settled(coming[4])).toBe(true);
  all[1].end();
  expect(await settled(coming[5])).toBe(true);
  // It is asked again beside the others.
  expect(await settled(all[0].come())).toBe(true);
});

test('one that is silent is waited for as long as others are at work, and for a minute then', async () => {
  const [silent, other] = [turns.begin(), turns.begin()];
  expect(silent.silent()).toBe(false);
  turns.taken();
  nowMs = 60 * MINUTE_MS;
  expect(silent.silent()).toBe(false);
  other.end();
  expect(silent.silent()).toBe(true);
});

test('one that has answered meanwhile is not given up for what was before', () => {
  const silent = turns.begin();
  turns.taken();
  silent.silent();
  nowMs = 5 * MINUTE_MS;
  silent.answered();
  expect(silent.silent()).toBe(false);
  nowMs += MINUTE_MS + 1;
  expect(silent.silent()).toBe(true);
});

test('where nothing else is taken, it is waited for ten minutes', () => {
  const silent = turns.begin();
  expect(silent.silent()).toBe(false);
  nowMs = 10 * MINUTE_MS;
  expect(silent.silent()).toBe(false);
  nowMs += 1;
  expect(silent.silent()).toBe(true);
});
