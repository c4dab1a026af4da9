import { inPool } from '../../../../../coordinator/service/collections/call-pool';

const never = (): Promise<never> => new Promise(() => undefined);

test('runs so many at once, and answers in the order of the items', async () => {
  let open = 0;
  let most = 0;
  const answers = await inPool(
    [3, 1, 2, 0, 4],
    async (turns) => {
      most = Math.max(most, (open += 1));
      for (let i = 0; i < turns; i += 1) await new Promise((wake) => setImmediate(wake));
      open -= 1;
      return turns * 10;
    },
    { atOnce: 2, patienceMs: Infinity },
  );
  expect(answers).toEqual([30, 10, 20, 0, 40]);
  expect(most).toBe(2);
  expect(await inPool([], async () => 1)).toEqual([]);
});

test('what does not end holds up nothing that comes after it', async () => {
  const begun: number[] = [];
  let told: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (told = resolve));
  void inPool(
    [0, 1, 2, 3, 4],
    (i) => {
      if (begun.push(i) === 5) told();
      return never();
    },
    { atOnce: 2, patienceMs: 1 },
  );
  await all;
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test('without such patience, each waits for its turn', async () => {
  const begun: number[] = [];
  const begin = (i: number): Promise<never> => {
    begun.push(i);
    return never();
  };
  void inPool([0, 1, 2], begin, { atOnce: 2, patienceMs: Infinity });
  await new Promise((wake) => setImmediate(wake));
  expect(begun).toEqual([0, 1]);
});

test('the first error ends it, and nothing more is begun', async () => {
  const begun: number[] = [];
  const failing = inPool(
    [0, 1, 2, 3],
    async (i) => {
      begun.push(i);
      await new Promise((wake) => setImmediate(wake));
      if (i === 0) throw new Error('no');
    },
    { atOnce: 2, patienceMs: Infinity },
  );
  await expect(failing).rejects.toThrow('no');
  await new Promise((wake) => setImmediate(wake));
  expect(begun).toEqual([0, 1]);
});
