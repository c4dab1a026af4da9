import { FollowerReads } from '../../../../../coordinator/cluster/calls/follower-reads';
import type { NodeLinks } from '../../../../../coordinator/cluster/calls/node-links';
import type { OpenCall } from '../../../../../coordinator/cluster/calls/open-calls';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ANY_REPLICA } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';

/** Which replica is asked, by what is under way at their nodes, and what a follower's answer leads to. */

const SHARD = { collectionUid: 'c', shard: 0 };
const ROUTE = { node: 'a', address: 'a:1', epoch: 3, followers: ['b:1'] };
const FETCH = { externalIds: ['x'], vectors: false };

let clock: ManualClock;
let underWay: Record<string, number>;
let answers: (() => Promise<unknown>)[];
let asked: { address: string; epoch: number }[];
let heard: number;
let reads: FollowerReads;

beforeEach(() => {
  clock = new ManualClock();
  underWay = { 'a:1': 0, 'b:1': 0 };
  answers = [];
  asked = [];
  heard = 0;
  const links = {
    readsUnderWay: (address: string) => underWay[address],
    to: (address: string) => ({
      get readsHeard() {
        return heard;
      },
      read: ({ epoch }: { epoch: number }) => {
        asked.push({ address, epoch });
        return {
          answer: (answers.shift() ?? (() => Promise.resolve([])))(),
          cancel: () => void asked.push({ address: `not ${address}`, epoch }),
        };
      },
    }),
  } as unknown as NodeLinks;
  reads = new FollowerReads({ links, clock });
});

function openCall(): OpenCall {
  return { deadlineMs: clock.monotonicMs() + 10_000, isOver: false, cancel: () => undefined };
}

/** For both clocks, and a turn of the event loop. */
function pass(ms: number): void {
  clock.advance(ms);
  jest.advanceTimersByTime(ms);
  jest.advanceTimersByTime(1);
}

function read(): Promise<unknown> {
  return reads.read('b:1', SHARD, 'fetch', FETCH, openCall());
}

test('a primary with little to do is asked itself', () => {
  underWay['a:1'] = 3;
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe(null);
});

test('a busy one shares its reads with a follower that has less to do', () => {
  underWay['a:1'] = 4;
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe('b:1');
  underWay['b:1'] = 4;
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe(null);
});

test('only what is the same at every replica is asked of followers', () => {
  underWay['a:1'] = 100;
  const shared = (
    [
      'search',
      'score',
      'keywordSearch',
      'keywordStatistics',
      'keywordExpansions',
      'fetch',
      'scan',
      'sample',
      'matches',
      'aggregate',
      'order',
    ] as const
  ).filter((kind) => reads.choose(SHARD, kind, ROUTE) !== null);
  expect(shared).toHaveLength(11);
  const own = (['count', 'fields', 'status', 'transfer', 'marks', 'backup', 'optimize'] as const).filter(
    (kind) => reads.choose(SHARD, kind, ROUTE) !== null,
  );
  expect(own).toEqual([]);
});

test('a shard without followers, or without a route, is left to its primary', () => {
  underWay['a:1'] = 100;
  expect(reads.choose(SHARD, 'search', null)).toBe(null);
  expect(reads.choose(SHARD, 'search', { node: 'a', address: 'a:1', epoch: 3 })).toBe(null);
});

test('a follower is asked as such, and its answer counts', async () => {
  answers.push(() => Promise.resolve([null]));
  expect(await read()).toEqual({ answer: [null] });
  expect(asked).toEqual([{ address: 'b:1', epoch: ANY_REPLICA }]);
});

test('one that declines is left alone for a second, for this shard', async () => {
  underWay['a:1'] = 100;
  answers.push(() => Promise.reject(new QuiverError('misrouted', 'no share')));
  expect(await read()).toBe(null);
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe(null);
  expect(reads.choose({ ...SHARD, shard: 1 }, 'search', ROUTE)).toBe('b:1');
  clock.advance(1_000);
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe('b:1');
});

test('a read that nobody waits for any more says nothing about the follower', async () => {
  underWay['a:1'] = 100;
  answers.push(() => new Promise(() => undefined));
  const open = openCall();
  const reading = reads.read('b:1', SHARD, 'fetch', FETCH, open);
  open.cancel();
  expect(await reading).toBe(null);
  expect(asked.map(({ address }) => address)).toEqual(['b:1', 'not b:1']);
  expect(reads.choose(SHARD, 'search', ROUTE)).toBe('b:1');
});

test('one that works on a read for long is waited for, as long as its node says something each second', async () => {
  jest.useFakeTimers();
  try {
    let answer: (found: unknown) => void = () => undefined;
    answers.push(() => new Promise((done) => (answer = done)));
    const reading = read();
    for (let second = 0; second < 4; second++) {
      heard += 1;
      pass(1_000);
    }
    answer(['found']);
    expect(await reading).toEqual({ answer: ['found'] });
    expect(asked).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('one that lives and does not answer is passed over after half of the time, and left alone for this shard', async () => {
  jest.useFakeTimers();
  try {
    underWay['a:1'] = 100;
    answers.push(() => new Promise(() => undefined));
    const reading = read();
    for (let second = 0; second < 5; second++) {
      expect(asked).toHaveLength(1);
      heard += 1;
      pass(1_000);
    }
    expect(await reading).toBe(null);
    expect(reads.choose(SHARD, 'search', ROUTE)).toBe(null);
    expect(reads.choose({ ...SHARD, shard: 1 }, 'search', ROUTE)).toBe('b:1');
  } finally {
    jest.useRealTimers();
  }
});

test('one that falls silent in the middle of a read is passed over', async () => {
  jest.useFakeTimers();
  try {
    answers.push(() => new Promise(() => undefined));
    const reading = read();
    heard += 1;
    pass(1_000);
    expect(asked).toHaveLength(1);
    pass(1_000);
    expect(await reading).toBe(null);
    expect(asked.map(({ address }) => address)).toEqual(['b:1', 'not b:1']);
  } finally {
    jest.useRealTimers();
  }
});

test('one that is silent is passed over after a second, and left alone for five, for all shards', async () => {
  jest.useFakeTimers();
  try {
    underWay['a:1'] = 100;
    answers.push(() => new Promise(() => undefined));
    const reading = read();
    pass(1_000);
    expect(await reading).toBe(null);
    expect(asked.map(({ address }) => address)).toEqual(['b:1', 'not b:1']);
    clock.advance(4_999);
    expect(reads.choose({ ...SHARD, shard: 1 }, 'search', ROUTE)).toBe(null);
    clock.advance(1);
    expect(reads.choose(SHARD, 'search', ROUTE)).toBe('b:1');
  } finally {
    jest.useRealTimers();
  }
});
