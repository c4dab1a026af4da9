import { setImmediate as turn } from 'node:timers/promises';
import { WriteMemory } from '../../../../../coordinator/jobs/documents/write-memory';

/** Memory of the writes that documents become. */

const never = new AbortController().signal;

function taking(memory: WriteMemory, bytes: number, stop = never) {
  const one = { isThere: false, end: () => {}, error: null as unknown };
  memory.take(bytes, stop).then(
    (end) => Object.assign(one, { isThere: true, end }),
    (error: unknown) => (one.error = error),
  );
  return one;
}

test('writes wait in their order until there is memory for them', async () => {
  const memory = new WriteMemory(100);
  const all = [60, 40, 30, 80, 1].map((bytes) => taking(memory, bytes));
  const there = async (): Promise<boolean[]> => {
    await turn();
    return all.map(({ isThere }) => isThere);
  };
  expect(await there()).toEqual([true, true, false, false, false]);
  all[1].end();
  all[1].end();
  expect(await there()).toEqual([true, true, true, false, false]);
  all[0].end();
  expect(await there()).toEqual([true, true, true, false, false]);
  all[2].end();
  expect(await there()).toEqual([true, true, true, true, true]);
});

test('one alone always has some, and who is stopped leaves its place to others', async () => {
  const memory = new WriteMemory(100);
  const stop = new AbortController();
  const huge = taking(memory, 1_000);
  const stopped = taking(memory, 90, stop.signal);
  const last = taking(memory, 20);
  await turn();
  expect([huge.isThere, stopped.isThere, last.isThere]).toEqual([true, false, false]);
  huge.end();
  await turn();
  const waits = taking(memory, 50);
  stop.abort(new Error('stopped'));
  await turn();
  expect([stopped.isThere, last.isThere, waits.isThere]).toEqual([true, false, false]);
  const other = new AbortController();
  const given = taking(memory, 100, other.signal);
  other.abort(new Error('given up'));
  await turn();
  expect(given.error).toMatchObject({ message: 'given up' });
  stopped.end();
  await turn();
  expect([last.isThere, waits.isThere]).toEqual([true, true]);
  await expect(memory.take(1, other.signal)).rejects.toThrow('given up');
});
