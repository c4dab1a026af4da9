import { ThreadReads } from '../../../../../coordinator/cluster/calls/thread-reads';
import type { RpcChannel, StreamEnd } from '../../../../../shared/wire/streams/rpc-channel';
import { ManualClock } from '../../../../support/manual-clock';

const GONE: StreamEnd = { isRefused: false, reason: 'gone' };

interface Opened {
  channel: object;
  ready: () => void;
  ended: (end: StreamEnd) => void;
  closedWith: StreamEnd | null;
}

/** `atOnce`: what becomes of a stream within the call that opens it. */
function threadReads(atOnce: (listener: Pick<Opened, 'ready' | 'ended'>) => void = () => undefined) {
  const clock = new ManualClock();
  const opened: Opened[] = [];
  const closed: object[] = [];
  const reads = new ThreadReads({
    clock,
    newChannel: () => {
      const channel = { close: () => closed.push(channel) };
      return channel as unknown as RpcChannel;
    },
    openStream: (channel, listener) => {
      const one: Opened & { close(end: StreamEnd): void } = {
        channel,
        ...listener,
        closedWith: null,
        close: (end) => {
          one.closedWith = end;
          listener.ended(end);
        },
      };
      opened.push(one);
      atOnce(listener);
      return one;
    },
  });
  return { clock, opened, closed, reads };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('reads go another way until the stream is ready, and again when it has ended', () => {
  const { clock, opened, reads } = threadReads();
  expect([reads.ready, reads.ready]).toEqual([null, null]);
  expect(opened).toHaveLength(1);
  opened[0].ready();
  expect(reads.ready).toBe(opened[0]);
  opened[0].ended(GONE);
  expect(reads.ready).toBeNull();
  expect(opened).toHaveLength(1);
  clock.advance(1_000);
  expect(reads.ready).toBeNull();
  opened[1].ready();
  expect(reads.ready).toBe(opened[1]);
  // A connection that ended is not made again while it may still be the one that grpc-js connects.
  expect(opened[1].channel).toBe(opened[0].channel);
});

test('one that never becomes ready is asked for ever more rarely', () => {
  const { clock, opened, reads } = threadReads();
  for (let ms = 0; ms < 60_000; ms += 10) {
    void reads.ready;
    if (reads.stream !== null) opened[opened.length - 1].ended(GONE);
    clock.advance(10);
  }
  expect(opened.length).toBeGreaterThan(10);
  expect(opened.length).toBeLessThan(40);
});

test('a connection on which nothing happens is given up for another', () => {
  const { clock, opened, closed, reads } = threadReads();
  void reads.ready;
  jest.advanceTimersByTime(2_000);
  expect(opened[0].closedWith).not.toBeNull();
  expect(closed).toEqual([opened[0].channel]);
  clock.advance(5_000);
  void reads.ready;
  expect(opened[1].channel).not.toBe(opened[0].channel);
});

test('a stream that ends within the call that opens it is opened again, and one that is ready by then is used', () => {
  let happens = ({ ended }: Pick<Opened, 'ready' | 'ended'>): void => ended(GONE);
  const { clock, opened, reads } = threadReads((listener) => happens(listener));
  expect(reads.ready).toBeNull();
  expect(reads.stream).toBeNull();
  expect(jest.getTimerCount()).toBe(0);
  clock.advance(1_000);
  happens = ({ ready }) => ready();
  expect(reads.ready).toBe(opened[1]);
});

test('what is closed is not opened again', () => {
  const { clock, opened, closed, reads } = threadReads();
  void reads.ready;
  reads.close(GONE);
  expect([opened[0].closedWith, closed]).toEqual([GONE, [opened[0].channel]]);
  clock.advance(10_000);
  expect(reads.ready).toBeNull();
  expect(opened).toHaveLength(1);
});
