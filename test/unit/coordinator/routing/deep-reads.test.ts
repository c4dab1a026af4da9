import { DeepReads } from '../../../../coordinator/routing/deep-reads';

/** How many deep reads run at once, and that small ones never wait for them. */

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('at most two deep reads run at once, in order, whatever becomes of them; small ones never wait', async () => {
  const deep = new DeepReads();
  const ends: ((error?: Error) => void)[] = [];
  const begun: number[] = [];
  const search = (number: number) => () =>
    new Promise<number>((resolve, reject) => {
      begun.push(number);
      ends.push((error) => (error === undefined ? resolve(number) : reject(error)));
    });
  const searches = [0, 1, 2, 3].map((number) => deep.run(10_000, search(number)));
  const failed = expect(searches[1]).rejects.toThrow('no such luck');
  expect(begun).toEqual([0, 1]);
  expect(await deep.run(10, async () => 'small')).toBe('small');
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
  const later = deep.run(1000, search(4));
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  ends[4]();
  expect(await later).toBe(4);
});
