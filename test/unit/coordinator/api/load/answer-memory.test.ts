import {
  answerParts,
  AnswerMemory,
  type Asked,
  forgetAnswerPart,
  isBusy,
} from '../../../../../coordinator/api/load/answer-memory';
import { ClientGone } from '../../../../../coordinator/api/body/client-gone';

/** What answers hold: reads count four times what they are. */

const COPIES = 4;
const BYTES_MAX = 8_000;
/** What a caller may hold whatever all others do. */
const LITTLE_MAX = BYTES_MAX / 32;
const BOUNDS = { bytesMax: BYTES_MAX, metadataBytesMax: 100, textBytesMax: 1000, waitMs: 10_000 };

function asked(caller: string, more: Partial<Asked> = {}): Asked {
  return { caller, isGone: false, begunMs: null, ...more };
}

/** As `bytes` of the memory. */
function of(bytes: number): number {
  return bytes / COPIES;
}

afterEach(() => jest.useRealTimers());

test('one caller may hold half of all, and who comes after it half of what is left', () => {
  const memory = new AnswerMemory(BOUNDS);
  memory.holdOf(asked('a')).keep(of(4000));
  expect(memory.holdOf(asked('a')).hasRoom(of(8))).toBe(false);
  memory.holdOf(asked('a')).keep(of(8));
  const begins = memory.holdOf(asked('a')).mayBegin();
  expect(begins).toBeInstanceOf(Promise);
  begins?.catch(() => undefined);
  expect(memory.holdOf(asked('b')).mayBegin()).toBeUndefined();
  memory.holdOf(asked('b')).keep(of(1996));
  expect(memory.holdOf(asked('b')).hasRoom(of(8))).toBe(false);
  expect(memory.holdOf(asked('c')).hasRoom(of(1000))).toBe(true);
});

test('strangers of however many addresses leave half to those who have a key', () => {
  const memory = new AnswerMemory(BOUNDS);
  const strangers = Array.from({ length: 100 }, (_, i) => memory.holdOf(asked(`address:${i}`, { isStranger: true })));
  for (const hold of strangers) if (hold.takes(200)) hold.sending(200);
  expect(memory.bytes).toBe(BYTES_MAX / 2);
  const known = memory.holdOf(asked('a'));
  expect(known.mayBegin()).toBeUndefined();
  expect(known.reserve(of(2000))).toBeUndefined();
  for (const hold of strangers) hold.sending(0);
  known.releaseRead();
  expect(memory.bytes).toBe(0);
  // Those before have left nothing behind.
  expect(strangers[0].takes(BYTES_MAX / 2)).toBe(true);
});

test('one read that may be larger than all passes alone', () => {
  const memory = new AnswerMemory(BOUNDS);
  const hold = memory.holdOf(asked('a'));
  expect(hold.reserve(of(50_000))).toBeUndefined();
  expect(memory.holdOf(asked('b')).hasRoom(of(LITTLE_MAX + 8))).toBe(false);
  hold.keep(0);
  expect(memory.bytes).toBe(0);
});

test('a caller that holds little has room whatever a deep read may find, as long as all such callers hold no more than an eighth', () => {
  const memory = new AnswerMemory(BOUNDS);
  const deep = memory.holdOf(asked('a'));
  expect(deep.reserve(of(50_000))).toBeUndefined();
  const little = memory.holdOf(asked('b'));
  expect(little.mayBegin()).toBeUndefined();
  expect(little.reserve(of(LITTLE_MAX))).toBeUndefined();
  expect(memory.holdOf(asked('b')).hasRoom(of(8))).toBe(false);
  // Nor has the caller of the deep read, nor one without a key.
  expect(memory.holdOf(asked('a')).hasRoom(of(8))).toBe(false);
  expect(memory.holdOf(asked('address', { isStranger: true })).hasRoom(of(8))).toBe(false);
  const others = ['c', 'd', 'e', 'f'].map((caller) => ({ caller, hold: memory.holdOf(asked(caller)) }));
  const letIn = others.filter(({ hold }) => hold.hasRoom(of(LITTLE_MAX)) && hold.reserve(of(LITTLE_MAX)) === undefined);
  expect(letIn.map(({ caller }) => caller)).toEqual(['c', 'd', 'e']);
  // What it holds beside the deep read counts as all else once that is gone.
  deep.keep(0);
  expect(letIn[0].hold.reserve(of(1000))).toBeUndefined();
  deep.keep(of(50_000));
  expect(others[3].hold.reserve(of(LITTLE_MAX))).toBeUndefined();
  for (const { hold } of [...others, { hold: little }, { hold: deep }]) hold.releaseRead();
  expect(memory.bytes).toBe(0);
  deep.keep(of(50_000));
  expect(others.filter(({ hold }) => hold.hasRoom(of(LITTLE_MAX)))).toHaveLength(4);
});

test('whoever waits is let in once its caller holds little', async () => {
  const memory = new AnswerMemory(BOUNDS);
  memory.holdOf(asked('a')).keep(of(50_000));
  const first = memory.holdOf(asked('b'));
  first.keep(of(LITTLE_MAX));
  const next = memory.holdOf(asked('b'));
  const waits = next.reserve(of(LITTLE_MAX));
  expect(waits).toBeInstanceOf(Promise);
  first.keep(0);
  await waits;
  expect(memory.bytes).toBe(50_000 + LITTLE_MAX);
  next.keep(0);
});

test('what was read, texts of it, and what the connection has are counted until they are given back', () => {
  const memory = new AnswerMemory(BOUNDS);
  const hold = memory.holdOf(asked('a'));
  expect(hold.reserve(of(1000))).toBeUndefined();
  hold.keep(of(400));
  expect(hold.reserveText(300)).toBeUndefined();
  hold.sending(50);
  expect(memory.bytes).toBe(750);
  hold.releaseRead();
  expect(memory.bytes).toBe(50);
  hold.sending(0);
  expect(memory.bytes).toBe(0);
});

test('who finds no room waits until others give some back, each caller’s in their order', async () => {
  const memory = new AnswerMemory(BOUNDS);
  const first = memory.holdOf(asked('a'));
  first.keep(of(4000));
  const begun: string[] = [];
  const waiting = ['second', 'third'].map(async (name) => {
    const hold = memory.holdOf(asked('a'));
    await hold.reserve(of(2000));
    begun.push(name);
    return hold;
  });
  await new Promise((next) => setImmediate(next));
  expect(begun).toEqual([]);
  // A caller that holds little is not behind them.
  expect(memory.holdOf(asked('b')).reserve(of(100))).toBeUndefined();
  first.keep(0);
  const holds = await Promise.all(waiting);
  expect(begun).toEqual(['second', 'third']);
  for (const hold of holds) hold.keep(0);
});

test('who waits in vain is refused, after a time or, where many wait, at once', async () => {
  jest.useFakeTimers();
  const memory = new AnswerMemory(BOUNDS);
  memory.holdOf(asked('a')).keep(of(4000));
  const results: unknown[] = [];
  for (let i = 0; i < 4097; i++)
    memory
      .holdOf(asked('a'))
      .reserve(of(8))!
      .catch((error: unknown) => results.push(error));
  await jest.advanceTimersByTimeAsync(0);
  expect(results).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(results).toHaveLength(4097);
  expect(results.every(isBusy)).toBe(true);
  expect(memory.bytes).toBe(4000);
});

test('whose caller’s others find room goes on waiting, but not for ever', async () => {
  jest.useFakeTimers();
  const memory = new AnswerMemory(BOUNDS);
  // Each holds all that the caller may, for nearly as long as a request waits in vain.
  const ends: string[] = [];
  const ask = async (name: string): Promise<void> => {
    const hold = memory.holdOf(asked('a'));
    try {
      await hold.reserve(of(6000));
      ends.push(name);
      setTimeout(() => hold.releaseRead(), 9_000);
    } catch (error) {
      ends.push(isBusy(error) ? `${name} refused` : String(error));
    }
  };
  for (let i = 0; i < 14; i += 1) void ask(`${i}`);
  await jest.advanceTimersByTimeAsync(99_000);
  expect(ends).toEqual(Array.from({ length: 12 }, (_, i) => `${i}`));
  await jest.advanceTimersByTimeAsync(2_000);
  expect(ends.slice(12)).toEqual(['12 refused', '13 refused']);
});

test('a read of a client that is gone by then does not begin, and holds nothing', async () => {
  const memory = new AnswerMemory(BOUNDS);
  const first = memory.holdOf(asked('a'));
  first.keep(of(4000));
  const begins = memory.holdOf(asked('a', { isGone: true })).reserve(of(1000));
  first.keep(0);
  await expect(begins).rejects.toMatchObject({ name: 'ClientGone' });
  expect(memory.bytes).toBe(0);
});

test('threads share the bound, and one that ends gives back what it held', async () => {
  const parts = answerParts(2);
  const [one, other] = [0, 1].map((place) => new AnswerMemory(BOUNDS, parts, place));
  one.holdOf(asked('a')).keep(of(4000));
  expect(other.holdOf(asked('a')).hasRoom(of(8))).toBe(false);
  expect(other.holdOf(asked('b')).hasRoom(of(2000))).toBe(true);
  const begins = other.holdOf(asked('a')).reserve(of(100));
  forgetAnswerPart(parts, 0);
  await begins;
  expect([one.bytes, other.bytes]).toEqual([0, 100]);
});

test('heaps grow slowly only while answers hold much', () => {
  const told: string[] = [];
  const memory = new AnswerMemory({ ...BOUNDS, growth: { be: (growth) => told.push(growth) } });
  const hold = memory.holdOf(asked('a'));
  hold.keep(of(100));
  hold.keep(of(1000));
  hold.keep(0);
  expect(told).toEqual(['fast', 'small', 'fast']);
});

test('where others of the caller wait there is no room either, so that nobody holds what it has read while it waits behind them', async () => {
  const memory = new AnswerMemory(BOUNDS);
  const [full, first, next] = Array.from({ length: 3 }, () => memory.holdOf(asked('a')));
  full.keep(of(3000));
  next.keep(of(400));
  const waits = first.reserve(of(2000));
  expect(waits).toBeInstanceOf(Promise);
  expect(next.hasRoom(of(480))).toBe(false);
  next.keep(0);
  // Behind the first.
  const waitsNext = next.reserve(of(480));
  expect(waitsNext).toBeInstanceOf(Promise);
  full.keep(0);
  await Promise.all([waits, waitsNext]);
  expect(memory.bytes).toBe(2480);
});

test('whoever waits and whose client is gone ends at once, however long it may wait, and gives back what it holds', async () => {
  const memory = new AnswerMemory(BOUNDS);
  const other = memory.holdOf(asked('a'));
  other.keep(of(4000));
  const request = { caller: 'a', isGone: false, begunMs: 600_000 };
  const hold = memory.holdOf(request);
  const waits = hold.reserve(of(2000));
  request.isGone = true;
  await expect(waits).rejects.toBeInstanceOf(ClientGone);
  other.keep(0);
  expect(memory.bytes).toBe(0);
});

test('an answer that is made is let in as little once, and is counted so', () => {
  const memory = new AnswerMemory(BOUNDS);
  memory.holdOf(asked('a')).keep(of(50_000));
  const taken = Array.from({ length: 100 }, (_, i) => memory.holdOf(asked(`caller ${i}`))).filter((hold) => {
    if (!hold.takes(LITTLE_MAX)) return false;
    hold.sending(LITTLE_MAX);
    return true;
  });
  expect(taken).toHaveLength(4);
  const read = memory.holdOf(asked('b'));
  expect(read.takesRead(of(LITTLE_MAX))).toBe(false);
  for (const hold of taken) hold.sending(0);
  expect(read.takesRead(of(LITTLE_MAX) + 8)).toBe(false);
  expect(read.takesRead(of(LITTLE_MAX))).toBe(true);
});

test('what was let in as little is so until it is given back, whatever other threads do meanwhile', () => {
  const parts = answerParts(2);
  const [one, other] = [0, 1].map((place) => new AnswerMemory(BOUNDS, parts, place));
  const deep = other.holdOf(asked('a'));
  // Between the first look and the next, another thread takes all there is.
  const looks = jest.spyOn(one, 'hasRoom');
  for (let n = 0; n < 10; n += 1) {
    const hold = one.holdOf(asked('b'));
    expect(hold.reserve(of(40))).toBeUndefined();
    looks.mockImplementationOnce((...asks) => {
      const room = AnswerMemory.prototype.hasRoom.call(one, ...asks);
      deep.keep(of(50_000));
      return room;
    });
    expect(hold.reserve(of(80))).toBeUndefined();
    hold.releaseRead();
    deep.keep(0);
  }
  looks.mockRestore();
  deep.keep(of(50_000));
  const letIn = Array.from({ length: 10 }, (_, i) => one.holdOf(asked(`caller ${i}`))).filter(
    (hold) => hold.hasRoom(of(LITTLE_MAX)) && hold.reserve(of(LITTLE_MAX)) === undefined,
  );
  expect(letIn).toHaveLength(4);
});

test('whoever waited to begin has room as everybody who holds little', async () => {
  const memory = new AnswerMemory(BOUNDS);
  const deep = memory.holdOf(asked('a'));
  const full = memory.holdOf(asked('b'));
  deep.keep(of(50_000));
  full.keep(of(LITTLE_MAX));
  const hold = memory.holdOf(asked('b'));
  const begins = hold.mayBegin();
  expect(begins).toBeInstanceOf(Promise);
  full.keep(0);
  deep.keep(0);
  await begins;
  expect(memory.bytes).toBe(0);
  deep.keep(of(50_000));
  expect(hold.reserve(of(LITTLE_MAX))).toBeUndefined();
});
