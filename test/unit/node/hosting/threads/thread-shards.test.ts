import { RunningLimit } from '../../../../../node/hosting/services/running-limit';
import { OperationReports, readReport, type SearchCounts } from '../../../../../node/hosting/threads/operation-reports';
import { readHandlers } from '../../../../../node/hosting/threads/read-handlers';
import type { PermittedResult } from '../../../../../node/hosting/threads/replica-views';
import { ThreadShards } from '../../../../../node/hosting/threads/thread-shards';
import type { NodeCall } from '../../../../../node/replication/node-shards';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ProfiledCall } from '../../../../../shared/contract/shard/call-profile';
import type { VectorSearch, VectorSearchResult } from '../../../../../shared/contract/shard/shard-read';
import { ThreadPeer, type ThreadPort } from '../../../../../shared/base/threads/thread-peer';
import { systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';

const ID = { collectionUid: 'c', shard: 0 };
const HERE: VectorSearchResult = { hits: [{ externalId: 'here', score: 1, metadata: '{}' }], vectorCount: 1 };
const THERE: VectorSearchResult = { hits: [{ externalId: 'there', score: 1, metadata: '{}' }], vectorCount: 1 };

function search(vector = Float32Array.of(1)): VectorSearch {
  return { vector, k: 1, filter: null, effort: { type: 'calibrated' }, texts: false };
}

/** A thread and the main thread, in one thread; messages are cloned as between two. */
function threads({
  inline,
  read = async () => THERE,
  limit = 10,
}: {
  inline: () => PermittedResult | null;
  read?: (call: NodeCall, request: unknown) => Promise<unknown>;
  limit?: number;
}) {
  const listeners: ((message: any) => void)[] = [];
  const port = (to: number): ThreadPort => ({
    postMessage: (message) => setImmediate(() => listeners[to](structuredClone(message))),
    on: (_event, listener) => listeners.push(listener),
  });
  const running = new RunningLimit(limit, 'reads');
  const shards = {
    read: (_id: object, _kind: string, request: unknown, call: NodeCall) => read(call, request) as Promise<any>,
  };
  const main = new ThreadPeer(port(1), {});
  void new ThreadPeer(port(0), readHandlers({ shards, limit: running, clock: systemClock }));
  const counted: string[] = [];
  const client = new ThreadShards({
    main,
    views: { search: inline },
    clock: systemClock,
    searched: (by) => counted.push(by),
  });
  const call = (): NodeCall => ({ epoch: 4, deadlineMs: systemClock.monotonicMs() + 5_000 });
  return { client, counted, call, running };
}

test('a search is answered here where that is enough, else by the main thread', async () => {
  const answers: (PermittedResult | null)[] = [
    { result: HERE, isPrimary: true },
    null,
    { result: HERE, isPrimary: false },
  ];
  const { client, counted, call } = threads({ inline: () => answers.shift()! });
  const found = [
    await client.read(ID, 'search', search(), call()),
    await client.read(ID, 'search', search(), call()),
    await client.read(ID, 'search', search(), call()),
  ];
  expect(found).toEqual([HERE, THERE, HERE]);
  expect(counted).toEqual(['primary', 'passedOn', 'follower']);
});

test('what is passed on keeps its epoch, its deadline and its errors, and brings no other vectors along', async () => {
  const seen: { call: NodeCall; request: VectorSearch }[] = [];
  const { client, call, running } = threads({
    inline: () => null,
    read: async (asked, request) => {
      seen.push({ call: asked, request: request as VectorSearch });
      expect(running.used).toBe(1);
      throw new QuiverError('misrouted', 'elsewhere');
    },
  });
  const given = call();
  const frame = new Float32Array(10_000).fill(7);
  await expect(client.read(ID, 'search', search(frame.subarray(8, 16)), given)).rejects.toMatchObject({
    kind: 'misrouted',
    message: 'elsewhere',
  });
  expect(seen[0].call.epoch).toBe(4);
  expect(seen[0].call.deadlineMs).toBeCloseTo(given.deadlineMs, 0);
  expect(seen[0].request.vector.buffer.byteLength).toBe(32);
  expect(running.used).toBe(0);
});

test('the main thread bounds what it is asked at once, and other reads than searches are its own', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((done) => (release = done));
  const { client, call } = threads({ inline: () => ({ result: HERE, isPrimary: true }), read: () => held, limit: 1 });
  const one = client.read(ID, 'count', null, call());
  await expect(client.read(ID, 'count', null, call())).rejects.toMatchObject({ kind: 'overloaded' });
  release();
  await one;
  expect(await client.read(ID, 'search', search(), call())).toEqual(HERE);
});

test('a call that is noted is so wherever it is answered', async () => {
  const answers: (PermittedResult | null)[] = [{ result: HERE, isPrimary: true }, null];
  const read = async ({ profiled }: NodeCall): Promise<unknown> => {
    profiled?.begun();
    return THERE;
  };
  const { client, call } = threads({ inline: () => answers.shift()!, read });
  for (const answer of [HERE, THERE]) {
    const profiled = new ProfiledCall({
      clock: systemClock,
      kind: 'search',
      shard: 0,
      query: null,
      startMs: systemClock.monotonicMs(),
      span: null,
    });
    expect(await client.read(ID, 'search', search(), { ...call(), profiled })).toEqual(answer);
    profiled.end(null);
    expect(profiled.served).toEqual({ waitMs: expect.any(Number), runMs: expect.any(Number) });
  }
});

test('after some milliseconds of searches the others have their turn', async () => {
  const clock = new ManualClock();
  let inRound = 0;
  const rounds: number[] = [];
  const client = new ThreadShards({
    main: { ask: async () => undefined as any },
    views: {
      search: () => {
        clock.advance(3);
        inRound += 1;
        return { result: HERE, isPrimary: true };
      },
    },
    clock,
    searched: () => undefined,
  });
  const all = Promise.all(
    Array.from({ length: 10 }, async () => client.read(ID, 'search', search(), { epoch: 1, deadlineMs: Infinity })),
  );
  let isDone = false;
  void all.then(() => (isDone = true));
  while (!isDone) {
    await new Promise((next) => setImmediate(next));
    rounds.push(inRound);
    inRound = 0;
  }
  expect(Math.max(...rounds)).toBeLessThanOrEqual(6);
  expect(rounds.reduce((sum, count) => sum + count)).toBe(10);
});

test('a search whose time is over when its turn comes is not done any more', async () => {
  const clock = new ManualClock();
  let searches = 0;
  const client = new ThreadShards({
    main: { ask: async () => undefined as any },
    views: {
      search: () => {
        clock.advance(10);
        searches += 1;
        return { result: HERE, isPrimary: true };
      },
    },
    clock,
    searched: () => undefined,
  });
  const read = (withinMs: number) =>
    client.read(ID, 'search', search(), { epoch: 1, deadlineMs: clock.monotonicMs() + withinMs });
  const first = read(1_000);
  const others = Promise.allSettled([read(0), read(1_000)]);
  expect(await first).toEqual(HERE);
  const [late, inTime] = await others;
  expect(late).toMatchObject({
    status: 'rejected',
    reason: { kind: 'unavailable', message: 'shard 0 did not answer in time; the call may be retried' },
  });
  expect(inTime).toMatchObject({ status: 'fulfilled', value: HERE });
  expect(searches).toBe(2);
});

test('what a thread counts arrives at the main thread, and nothing twice', () => {
  const sent: Float64Array[] = [];
  const reports = new OperationReports((report) => sent.push(report));
  reports.done('search', 1.5, 'answered');
  reports.done('fetch', 2, 'failed');
  reports.searched('primary');
  reports.searched('follower');
  reports.searched('follower');
  reports.searched('passedOn');
  reports.flush();
  reports.flush();
  reports.close();
  expect(sent).toHaveLength(1);
  const operations: unknown[] = [];
  const searches: SearchCounts[] = [];
  readReport(sent[0], {
    observer: { done: (...facts) => operations.push(facts) },
    onSearches: (counts) => searches.push(counts),
  });
  expect(operations).toEqual([
    ['search', 1.5, 'answered'],
    ['fetch', 2, 'failed'],
  ]);
  expect(searches).toEqual([{ primary: 1, follower: 2, passedOn: 1 }]);
});

test('what a thread counts is sent soon, and while nothing is counted no timer wakes it', () => {
  jest.useFakeTimers();
  try {
    const sent: Float64Array[] = [];
    const reports = new OperationReports((report) => sent.push(report));
    expect(jest.getTimerCount()).toBe(0);
    reports.done('search', 1.5, 'answered');
    reports.searched('primary');
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1_000);
    expect(sent).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
    reports.searched('follower');
    jest.advanceTimersByTime(1_000);
    expect(sent).toHaveLength(2);
    reports.close();
    reports.searched('follower');
    expect(jest.getTimerCount()).toBe(0);
    expect(sent).toHaveLength(2);
  } finally {
    jest.useRealTimers();
  }
});
