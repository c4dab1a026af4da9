import { join } from 'node:path';
import { ServingThreads } from '../../shared/base/threads/serving-threads';
import { THREAD_WORDS } from '../../shared/base/threads/thread-state';
import { silentLogger } from '../../shared/base/logs/logger';
import type { ThreadPeer } from '../../shared/base/threads/thread-peer';
import { eventually } from '../support/eventually';

/** What becomes of threads that stand still or do not start. */

let threads: ServingThreads<undefined> | null = null;
let peers: ThreadPeer[];
let log: { message: string; error: unknown }[];
/** `failed`: it was told so; `begun`: a thread was; `turned`: the event loop has, since the failure. */
let events: ('failed' | 'begun' | 'turned')[];

async function start(data: object = {}): Promise<ServingThreads<undefined>> {
  peers = [];
  log = [];
  events = [];
  const started = new ServingThreads({
    task: 'is tested',
    entry: join(__dirname, '../support/threads/serving-thread-worker.js'),
    threads: 2,
    words: THREAD_WORDS + 2,
    own: () => undefined,
    data: (state) => ({ state, ...data }),
    handlers: () => ({}),
    onStarted: (peer) => {
      peers.push(peer);
      events.push('begun');
      return () => void peers.splice(peers.indexOf(peer), 1);
    },
    duplicateHandle: (handle) => handle,
    logger: {
      ...silentLogger,
      error: ({ error }, message) => {
        log.push({ message, error });
        events.push('failed');
        setImmediate(() => events.push('turned'));
      },
    },
    lookMs: 300,
  });
  await started.begin();
  return started;
}

afterEach(async () => {
  await threads?.close(0);
  threads = null;
});

test('a thread whose event loop stands still is ended and replaced, and the others stay', async () => {
  threads = await start();
  const [one, other] = threads.ids;
  peers[0].tell('hang');
  await eventually('it is replaced', () => threads!.ids.every((id) => id !== one && id > 0));
  expect(threads.ids).toContain(other);
  expect(log).toEqual([
    {
      message: 'a thread that is tested has ended; it is replaced',
      error: expect.objectContaining({ message: 'it did nothing for 10 looks at it' }),
    },
  ]);
  // Whoever followed for it does so no more.
  expect(peers).toHaveLength(2);
});

/** Whether they ended by themselves; of one that was ended by force it stays false. */
const leftOf = (states: Int32Array[]): boolean[] => states.map((state) => Atomics.load(state, THREAD_WORDS + 1) === 1);

test('a thread that turns again after it was asked to end does so by itself, and gets no connection meanwhile', async () => {
  threads = await start();
  const before = threads.ids;
  const states = threads.running.map(({ state }) => state);
  peers[0].tell('hang');
  // As a thread that stands still at the last look before it is ended.
  const told = jest.spyOn(peers[0], 'tell');
  await eventually('it is asked', () => told.mock.calls.some(([name]) => name === 'end'));
  expect(threads.ids).toEqual(before);
  Atomics.store(states[0], THREAD_WORDS, 1);
  await eventually('it is replaced', () => threads!.ids.every((id) => id !== before[0] && id > 0));
  expect(leftOf(states)).toEqual([true, false]);
  expect(log.map(({ error }) => (error as Error).message)).toEqual(['it did nothing for 10 looks at it']);
});

test('threads of a process that ends do so by themselves, and one that stands still by force', async () => {
  threads = await start();
  const states = threads.running.map(({ state }) => state);
  peers[1].tell('hang');
  await threads.close(0);
  expect(leftOf(states)).toEqual([true, false]);
  expect(threads.running).toEqual([]);
});

test('a thread that fails is replaced at once; where the next one fails soon, that takes a pause; each counts', async () => {
  threads = await start();
  events = [];
  for (const failures of [1, 2]) {
    const before = threads.ids;
    peers.at(-1)!.tell('fail');
    await eventually(
      'it is replaced',
      () =>
        threads!.failures === failures && threads!.ids.every((id) => id > 0) && threads!.ids.join() !== before.join(),
    );
    await eventually('the new one serves', () => threads!.running.every(({ isReady }) => isReady));
  }
  expect(log.map(({ error }) => (error as Error).message)).toEqual(['not expected', 'not expected']);
  expect(events).toEqual(['failed', 'begun', 'turned', 'failed', 'turned', 'begun']);
});

test('threads that can not start are an error of the start', async () => {
  await expect(start({ dies: true })).rejects.toMatchObject({
    kind: 'internal',
    message: 'a thread that is tested could not start',
  });
});
