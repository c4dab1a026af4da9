import { SearchTurns } from '../../../../../shared/base/threads/search-turns';
import { ManualClock } from '../../../../support/manual-clock';

/**
 * Turns of searches that take so long each, by a clock that only they advance, and in which round of the event loop
 * each was done.
 */
function turnsOf(searchMs: number) {
  const clock = new ManualClock();
  const turns = new SearchTurns(clock);
  const done: { name: string; round: number }[] = [];
  let round = 0;
  const take = async (name: string): Promise<void> =>
    turns.take(() => {
      clock.advance(searchMs);
      done.push({ name, round });
    });
  const nextRound = async (): Promise<void> => {
    await new Promise((next) => setImmediate(next));
    round += 1;
  };
  return {
    clock,
    turns,
    done,
    take,
    nextRound,
    inRound: (which: number) => done.filter((each) => each.round === which).map(({ name }) => name),
  };
}

const named = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`);

test('searches are done at once while there is time in the round, and those that wait in their order, some in each round', async () => {
  const { take, nextRound, done } = turnsOf(1);
  const all = Promise.all(named('a', 20).map(take));
  expect(done).toHaveLength(8);
  const counts: number[] = [];
  while (done.length < 20) {
    const before = done.length;
    await nextRound();
    counts.push(done.length - before);
  }
  await all;
  expect(counts).toEqual([4, 4, 4]);
  expect(done.map(({ name }) => name)).toEqual(named('a', 20));
});

test('what comes in has its part of a round before all of a large request is done', async () => {
  const { take, nextRound, inRound, done } = turnsOf(1);
  const large = Promise.all(named('large', 1_000).map(take));
  await nextRound();
  await Promise.all(named('small', 3).map(take));
  expect(inRound(1)).toEqual(named('small', 3));
  while (done.length < 1_003) await nextRound();
  await large;
});

test('what takes no time by the clock is not counted, and the next round begins with all of its time', async () => {
  const { take, nextRound, done } = turnsOf(0);
  await Promise.all(named('a', 100).map(take));
  expect(done).toHaveLength(100);
  await nextRound();
  await take('b');
  expect(done).toHaveLength(101);
});

test('a search that fails fails its caller, at once or later, and takes nothing from the others', async () => {
  const { turns, clock, take, nextRound, done } = turnsOf(1);
  const failing = (): never => {
    clock.advance(1);
    throw new Error('out of memory');
  };
  expect(() => turns.take(failing)).toThrow('out of memory');
  const others = Promise.all(named('a', 7).map(take));
  const later = turns.take(failing);
  const last = take('b');
  await expect(later).rejects.toThrow('out of memory');
  await nextRound();
  await Promise.all([others, last]);
  expect(done).toHaveLength(8);
});
