import { MessageChannel } from 'node:worker_threads';
import { DeepReads } from '../../../../../coordinator/service/routing/deep-reads';
import { deepHandlers, HttpThreadDeepReads } from '../../../../../coordinator/api/threads/http-thread-deep-reads';
import { ThreadPeer } from '../../../../../shared/base/threads/thread-peer';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';

/** Deep reads of two threads, over real channels whose ends are all here. */

const LATER = { deadlineMs: Infinity };
const ports: { close(): void }[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function thread(deep: DeepReads): { front: HttpThreadDeepReads; main: ThreadPeer } {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const main: ThreadPeer = new ThreadPeer(
    port1,
    deepHandlers(deep, systemClock, () => main),
  );
  return { front: new HttpThreadDeepReads({ main: new ThreadPeer(port2, {}), clock: systemClock }), main };
}

/** Reads that say when they begin, and end when they are told. */
function readsOf(begun: string[]): { read: (name: string) => () => Promise<string>; end: (name: string) => void } {
  const ends = new Map<string, () => void>();
  return {
    read: (name) => () => {
      begun.push(name);
      return new Promise((done) => ends.set(name, () => done(name)));
    },
    end: (name) => ends.get(name)?.(),
  };
}

test('two run at once over all threads, and small ones never wait', async () => {
  const deep = new DeepReads(systemClock);
  const [one, other] = [thread(deep), thread(deep)];
  const begun: string[] = [];
  const { read, end } = readsOf(begun);
  const reads = [one.front.run(10_000, LATER, read('a')), one.front.run(10_000, LATER, read('b'))];
  await eventually('two have begun', () => begun.length === 2);
  reads.push(other.front.run(10_000, LATER, read('c')));
  expect(await other.front.run(10, LATER, async () => 'small')).toBe('small');
  expect(begun).toEqual(['a', 'b']);
  end('b');
  await eventually('the next has begun', () => begun.length === 3);
  end('a');
  end('c');
  expect(await Promise.all(reads)).toEqual(['a', 'b', 'c']);
});

test('a read that fails gives its place back, and so does a thread that ends', async () => {
  const deep = new DeepReads(systemClock);
  const [one, other] = [thread(deep), thread(deep)];
  const begun: string[] = [];
  const { read, end } = readsOf(begun);
  await expect(one.front.run(10_000, LATER, () => Promise.reject(new Error('no such luck')))).rejects.toThrow(
    'no such luck',
  );
  for (const name of ['a', 'b', 'waiting']) void one.front.run(10_000, LATER, read(name)).catch(() => undefined);
  await eventually('two have begun', () => begun.length === 2);
  const reads = [other.front.run(10_000, LATER, read('c')), other.front.run(10_000, LATER, read('d'))];
  one.main.close('the thread has ended');
  await eventually('both of the other thread have begun', () => begun.includes('c') && begun.includes('d'));
  expect(begun).not.toContain('waiting');
  end('c');
  end('d');
  expect(await Promise.all(reads)).toEqual(['c', 'd']);
});

test('a read of a thread whose time is over while it waits for a place is told so, and never begins', async () => {
  const deep = new DeepReads(systemClock);
  const [one, other] = [thread(deep), thread(deep)];
  const begun: string[] = [];
  const { read, end } = readsOf(begun);
  const reads = ['a', 'b'].map((name) => one.front.run(10_000, LATER, read(name)));
  await eventually('two have begun', () => begun.length === 2);
  await expect(
    other.front.run(10_000, { deadlineMs: systemClock.monotonicMs() + 20 }, read('late')),
  ).rejects.toMatchObject({ kind: 'unavailable' });
  reads.push(other.front.run(10_000, LATER, read('c')));
  for (const name of ['a', 'b']) end(name);
  await eventually('the next has begun', () => begun.includes('c'));
  end('c');
  await Promise.all(reads);
  expect(begun).toEqual(['a', 'b', 'c']);
});
