import { setImmediate as nextRound } from 'node:timers/promises';
import { WholeWrites } from '../../../../../../node/engine/shard/reading/whole-writes';

/** Reads beside writes that are to be seen whole. */

/** Two numbers that belong together, and are written one after the other. */
class Pair {
  readonly whole = new WholeWrites();
  first = 0;
  second = 0;

  async write(value: number): Promise<void> {
    const held = this.whole.begin();
    if (held !== undefined) await held;
    this.first = value;
    await nextRound();
    this.second = value;
    this.whole.end();
  }

  /** Reads one, and the other some rounds later. */
  readonly slowly = async (rounds: number): Promise<[number, number]> => {
    const { first } = this;
    for (let i = 0; i < rounds; i += 1) await nextRound();
    return [first, this.second];
  };
}

test('what is there is answered at once where nothing is written', () => {
  expect(new Pair().whole.read(() => 7)).toBe(7);
});

test('a read that begins while a write is applied waits for it', async () => {
  const pair = new Pair();
  const writing = pair.write(1);
  const read = pair.whole.read((): [number, number] => [pair.first, pair.second]);
  await writing;
  expect(await read).toEqual([1, 1]);
});

test('a read that a write overtakes is made again', async () => {
  const pair = new Pair();
  const read = pair.whole.read(() => pair.slowly(3));
  await pair.write(1);
  expect(await read).toEqual([1, 1]);
});

test('a read that is overtaken again and again holds writes off, and none is lost', async () => {
  const pair = new Pair();
  let isOver = false;
  let written = 0;
  const writes = (async () => {
    while (!isOver) await pair.write(++written);
  })();
  for (let i = 0; i < 20; i += 1) {
    const [first, second] = await pair.whole.read(() => pair.slowly(5));
    expect(first).toBe(second);
  }
  isOver = true;
  await writes;
  expect([pair.first, pair.second]).toEqual([written, written]);
});

test('an error of a read is its own, and holds nobody off', async () => {
  const pair = new Pair();
  const read = pair.whole.read(async () => {
    await nextRound();
    throw new Error('no');
  });
  await expect(read).rejects.toThrow('no');
  await pair.write(1);
  expect(pair.second).toBe(1);
});
