import { MessageChannel } from 'node:worker_threads';
import { HandedBack, remote, ThreadPeer } from '../../../../../shared/base/threads/thread-peer';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { eventually } from '../../../../support/eventually';

/** Calls between two threads, over a real channel whose two ends are here. */

const open: { close(): void }[] = [];

function pair(
  left: Record<string, (...args: never[]) => unknown>,
  right: Record<string, (...args: never[]) => unknown>,
): { left: ThreadPeer; right: ThreadPeer } {
  const { port1, port2 } = new MessageChannel();
  open.push(port1, port2);
  return { left: new ThreadPeer(port1, left), right: new ThreadPeer(port2, right) };
}

afterEach(() => {
  for (const port of open.splice(0)) port.close();
});

test('what one side asks the other answers, in any order', async () => {
  const waiting: (() => void)[] = [];
  const { left } = pair(
    {},
    {
      slow: () => new Promise<string>((done) => waiting.push(() => done('slow'))),
      sum: (a: number, b: number) => a + b,
    },
  );
  const slow = left.ask<string>('slow');
  expect(await left.ask('sum', 2, 3)).toBe(5);
  for (const go of waiting) go();
  expect(await slow).toBe('slow');
});

test('vectors arrive as they are, and bytes that are handed over are gone here', async () => {
  const { left } = pair({}, { back: (value: unknown) => value });
  expect(await left.ask('back', { vector: Float32Array.of(1, 2), none: undefined, nothing: null })).toEqual({
    vector: Float32Array.of(1, 2),
    none: undefined,
    nothing: null,
  });
  const bytes = Buffer.allocUnsafeSlow(3);
  bytes.set([7, 8, 9]);
  expect(await left.hand('back', bytes)).toEqual(Uint8Array.of(7, 8, 9));
  expect(bytes).toHaveLength(0);
});

test('memory that is handed over comes back as it is', async () => {
  let there: Uint8Array | null = null;
  const { left } = pair(
    {},
    {
      raise: (bytes: Uint8Array) => {
        there = bytes;
        bytes[0] += 1;
        return new HandedBack({ bytes }, [bytes.buffer as ArrayBuffer]);
      },
    },
  );
  const bytes = Buffer.allocUnsafeSlow(2);
  bytes.set([1, 2]);
  expect(await left.hand('raise', bytes)).toEqual({ bytes: Uint8Array.of(2, 2) });
  expect(there).toHaveLength(0);
});

test('an operating error arrives as one; any other with its message and stack', async () => {
  const { left } = pair(
    {},
    {
      operating: () => {
        throw new QuiverError('not_found', 'no such thing', { details: { id: 7 }, cause: new Error('deeper') });
      },
      other: () => {
        throw new TypeError('a mistake');
      },
    },
  );
  const operating = await left.ask('operating').catch((error: unknown) => error);
  expect(operating).toBeInstanceOf(QuiverError);
  expect(operating).toMatchObject({ kind: 'not_found', message: 'no such thing', details: { id: 7 } });
  expect((operating as Error).cause).toMatchObject({ message: expect.stringContaining('deeper') });
  const other = await left.ask('other').catch((error: unknown) => error);
  expect(other).not.toBeInstanceOf(QuiverError);
  expect(other).toMatchObject({ message: 'a mistake', stack: expect.stringContaining('TypeError: a mistake') });
});

test('a name that nobody handles and a value that cannot be copied fail by themselves', async () => {
  const { left } = pair({}, { back: (value: unknown) => value, uncopied: () => () => 1 });
  await expect(left.ask('nothing')).rejects.toThrow('no thread handles nothing');
  await expect(left.ask('back', () => 1)).rejects.toThrow('could not be cloned');
  await expect(left.ask('uncopied')).rejects.toThrow('could not be cloned');
  expect(await left.ask('back', 1)).toBe(1);
});

test('a remote object asks by room and method', async () => {
  const { left } = pair({}, { 'room.double': (value: number) => 2 * value });
  expect(await remote<{ double(value: number): Promise<number> }>(left, 'room').double(21)).toBe(42);
});

describe('a stream', () => {
  test('is drawn piece by piece, and no further than it is wanted', async () => {
    let made = 0;
    let isReturned = false;
    async function* pieces(): AsyncGenerator<number> {
      try {
        for (;;) yield (made += 1);
      } finally {
        isReturned = true;
      }
    }
    const { left, right } = pair({}, {});
    const drawn: number[] = [];
    for await (const piece of right.drawn<number>(left.offer(pieces()))) {
      drawn.push(piece);
      if (drawn.length === 3) break;
    }
    expect(drawn).toEqual([1, 2, 3]);
    expect(made).toBe(3);
    await eventually('the source is told', () => isReturned);
  });

  test('ends and fails as its source does', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield 'first';
      throw new QuiverError('invalid_parameter', 'broken off');
    }
    async function* ending(): AsyncGenerator<string> {
      yield 'only';
    }
    const { left, right } = pair({}, {});
    const seen: string[] = [];
    const draw = async (source: AsyncIterable<string>): Promise<void> => {
      for await (const piece of right.drawn<string>(left.offer(source))) seen.push(piece);
    };
    await draw(ending());
    await expect(draw(failing())).rejects.toMatchObject({ kind: 'invalid_parameter', message: 'broken off' });
    expect(seen).toEqual(['only', 'first']);
  });

  test('that is given up before it was drawn frees its source', async () => {
    let isReturned = false;
    const source: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: 1 }),
        return: async () => {
          isReturned = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const { left, right } = pair({}, {});
    const stream = left.offer(source);
    left.withdraw(stream);
    expect(isReturned).toBe(true);
    await expect(right.drawn(stream).next()).rejects.toThrow();
  });

  test('breaks off on both sides when the other thread ends', async () => {
    let isReturned = false;
    const endless: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: async () => {
          isReturned = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const { left, right } = pair({}, {});
    const next = right.drawn<number>(left.offer(endless)).next();
    right.close('the thread has ended');
    left.close('the thread has ended');
    await expect(next).rejects.toMatchObject({ kind: 'unavailable', message: 'the thread has ended' });
    expect(isReturned).toBe(true);
  });
});

test('when the other thread ends, calls under way and later ones fail', async () => {
  const { left } = pair({}, { never: () => new Promise(() => undefined) });
  const call = left.ask('never');
  left.close('the thread has ended');
  await expect(call).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(left.ask('never')).rejects.toMatchObject({ kind: 'unavailable' });
  expect(() => left.tell('never')).not.toThrow();
});
