import {
  BlindReads,
  DEEP_HITS,
  DeepReads,
  hitsOfLength,
  isDeep,
} from '../../../../../coordinator/service/routing/deep-reads';
import { systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';

/** How many deep reads run at once, and that small ones never wait for them. */

const LATER = { deadlineMs: Infinity };
const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('at most two deep reads run at once, in order, whatever becomes of them; small ones never wait', async () => {
  const deep = new DeepReads(systemClock);
  const ends: ((error?: Error) => void)[] = [];
  const begun: number[] = [];
  const search = (number: number) => () =>
    new Promise<number>((resolve, reject) => {
      begun.push(number);
      ends.push((error) => (error === undefined ? resolve(number) : reject(error)));
    });
  const searches = [0, 1, 2, 3].map((number) => deep.run(10_000, LATER, search(number)));
  const failed = expect(searches[1]).rejects.toThrow('no such luck');
  expect(begun).toEqual([0, 1]);
  expect(await deep.run(10, LATER, async () => 'small')).toBe('small');
  ends[1](new Error('no such luck'));
  await failed;
  await round();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]();
  ends[2]();
  await round();
  await round();
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[3]();
  expect(await Promise.all([searches[0], searches[2], searches[3]])).toEqual([0, 2, 3]);
  await round();
  const later = deep.run(1000, LATER, search(4));
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  ends[4]();
  expect(await later).toBe(4);
});

test('a read whose time is over before there is a place never begins, and those behind it come first', async () => {
  const clock = new ManualClock(1_000);
  const deep = new DeepReads(clock);
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  const read = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((end) => ends.push(end));
  };
  const reads = ['a', 'b'].map((name) => deep.run(10_000, LATER, read(name)));
  const late = deep.run(10_000, { deadlineMs: clock.monotonicMs() }, read('late'));
  reads.push(deep.run(10_000, LATER, read('c')));
  await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
  for (const end of ends.splice(0)) end();
  await round();
  await round();
  expect(begun).toEqual(['a', 'b', 'c']);
  ends[0]();
  await Promise.all(reads);
});

test('long items are deep reads by their bytes, however few they are', () => {
  expect(isDeep(hitsOfLength(1, 320 * 1024))).toBe(true);
  expect(isDeep(hitsOfLength(10, 4 * 1024))).toBe(false);
  expect(hitsOfLength(10, undefined)).toBe(10);
});

test('of reads whose cost nobody knows, eight run beside each other as what they seem, and further ones are deep', async () => {
  const blind = new BlindReads();
  const ends: (() => void)[] = [];
  const reads = Array.from({ length: 8 }, () => {
    expect(blind.costOf(3)).toBe(3);
    return blind.run(() => new Promise<void>((end) => ends.push(end)));
  });
  expect(blind.costOf(3)).toBe(DEEP_HITS);
  expect(blind.costOf(2 * DEEP_HITS)).toBe(2 * DEEP_HITS);
  ends[0]();
  await reads[0];
  expect(blind.costOf(3)).toBe(3);
  await expect(blind.run(() => Promise.reject(new Error('no such luck')))).rejects.toThrow('no such luck');
  expect(blind.costOf(3)).toBe(3);
  for (const end of ends) end();
  await Promise.all(reads);
});
