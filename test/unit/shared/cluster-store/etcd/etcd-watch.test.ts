import { EventEmitter } from 'node:events';
import { status } from '@grpc/grpc-js';
import type { StoreEvent } from '../../../../../shared/cluster-store/cluster-store';
import { EtcdCallError } from '../../../../../shared/cluster-store/etcd/etcd-call-error';
import type { RangeRequest, WatchRequest } from '../../../../../shared/cluster-store/etcd/etcd-protocol';
import type { EtcdTransport } from '../../../../../shared/cluster-store/etcd/etcd-transport';
import { EtcdWatch } from '../../../../../shared/cluster-store/etcd/etcd-watch';
import { WatchedKeys } from '../../../../../shared/cluster-store/watched-keys';
import { eventually } from '../../../../support/eventually';

/** How a watch finds out that it is behind, or that the store has another history, without reading everything again. */

const TIMEOUT_MS = 1_000;
/** Longer than any time until keys are compared. */
const LONG_MS = 30 * 60_000;

/** A stream to etcd whose other side the test speaks. */
class Stream extends EventEmitter {
  readonly written: WatchRequest[] = [];
  isCancelled = false;

  write(request: WatchRequest): void {
    this.written.push(request);
  }

  cancel(): void {
    this.isCancelled = true;
  }

  says(revision: number, message: object = {}): void {
    this.emit('data', {
      header: { cluster_id: '1', revision: `${revision}` },
      created: false,
      canceled: false,
      compact_revision: '0',
      fragment: false,
      events: [],
      ...message,
    });
  }
}

let streams: Stream[];
let reads: RangeRequest[];
/** What etcd has, by key; `lost`: it answers no read by revision any more. */
let present: Record<string, number>;
let isCompacted: boolean;
let told: StoreEvent[][];
let watch: EtcdWatch;

beforeEach(async () => {
  streams = [];
  reads = [];
  present = { 'w/a': 4, 'w/b': 7 };
  isCompacted = false;
  told = [];
  const transport = {
    callTimeoutMs: TIMEOUT_MS,
    stream: async () => streams[streams.push(new Stream()) - 1],
    call: async (_method: string, request: RangeRequest) => {
      reads.push(request);
      if (isCompacted && request.revision !== undefined)
        throw new EtcdCallError('compacted', status.OUT_OF_RANGE, 'refused');
      return {
        header: { revision: '20' },
        kvs: Object.entries(present).map(([key, revision]) => ({
          key: Buffer.from(key),
          value: Buffer.from(''),
          mod_revision: `${revision}`,
        })),
      };
    },
  } as unknown as EtcdTransport;
  const known = new WatchedKeys(Object.entries(present).map(([key, revision]) => ({ key, revision })));
  watch = new EtcdWatch({ transport, prefix: 'w/', afterRevision: 7, known, listener: (events) => told.push(events) });
  await isThere(1);
  streams[0].says(7, { created: true });
});

afterEach(() => {
  watch.stop();
  jest.restoreAllMocks();
});

/** Until the watch has opened so many streams and listens to the last. */
async function isThere(count: number): Promise<void> {
  await eventually(`stream ${count} is open`, () => streams.length === count && streams[count - 1].written.length > 0);
}

/** Until everything that needs no time has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done));
}

/** The connection breaks, and the next stream is confirmed at `revision`. */
async function reconnects(revision: number): Promise<void> {
  streams.at(-1)?.emit('end');
  await isThere(streams.length + 1);
  streams.at(-1)?.says(revision, { created: true });
}

const isAsking = (stream: Stream): boolean => stream.written.some((request) => 'progress_request' in request);

test('a watch that has heard of a revision asks nothing', async () => {
  watch.confirm(7, 7);
  await settled();
  expect(isAsking(streams[0])).toBe(false);
  expect(reads).toEqual([]);
});

test('one that has not heard of it asks, and stays when it is told', async () => {
  watch.confirm(9, 7);
  expect(isAsking(streams[0])).toBe(true);
  streams[0].says(9);
  await new Promise((done) => setTimeout(done, TIMEOUT_MS + 1));
  await settled();
  expect([streams.length, streams[0].isCancelled]).toEqual([1, false]);
  expect(told).toEqual([]);
});

test('a stream that does not come as far in time is given up, and the next begins at what was seen', async () => {
  watch.confirm(9, 7);
  streams[0].says(8);
  await isThere(2);
  expect(streams[0].isCancelled).toBe(true);
  expect(streams[1].written).toMatchObject([{ create_request: { start_revision: 7 } }]);
});

test('a store that is behind what was seen is read, and the difference told', async () => {
  present = { 'w/a': 4 };
  watch.confirm(5, 7);
  await isThere(2);
  expect(told).toEqual([[{ type: 'delete', key: 'w/b', revision: 20 }]]);
});

test('what came while the revision was read is no step back', async () => {
  streams[0].says(9, {
    events: [{ type: 'PUT', kv: { key: Buffer.from('w/a'), value: Buffer.from(''), mod_revision: '9' } }],
  });
  watch.confirm(8, 7);
  await settled();
  expect([reads.length, streams.length]).toEqual([0, 1]);
});

test('after a loss the keys are compared with those of the revision seen, once', async () => {
  await reconnects(8);
  watch.confirm(8, 7);
  await settled();
  watch.confirm(8, 7);
  await settled();
  expect(reads).toMatchObject([{ revision: 7, keys_only: true }]);
  expect([told, streams.length]).toEqual([[], 2]);
});

test('a store that came as far again with another history is found out so', async () => {
  present = { 'w/a': 6, 'w/c': 5 };
  await reconnects(8);
  watch.confirm(8, 7);
  await isThere(3);
  expect(told).toEqual([
    [
      { type: 'put', key: 'w/c', value: '', revision: 5 },
      { type: 'put', key: 'w/a', value: '', revision: 6 },
      { type: 'delete', key: 'w/b', revision: 20 },
    ],
  ]);
});

test('where etcd has forgotten that revision, the keys of now are compared', async () => {
  isCompacted = true;
  await reconnects(8);
  watch.confirm(8, 7);
  await settled();
  expect(reads.map(({ revision }) => revision)).toEqual([7, undefined]);
  expect(told).toEqual([]);
  present = { 'w/a': 4 };
  await reconnects(8);
  watch.confirm(8, 7);
  await isThere(4);
  expect(told).toEqual([[{ type: 'delete', key: 'w/b', revision: 20 }]]);
});

test('a watch that runs for long compares its keys now and then', async () => {
  watch.confirm(7, 7);
  expect(reads).toEqual([]);
  const nowMs = performance.now();
  jest.spyOn(performance, 'now').mockReturnValue(nowMs + LONG_MS);
  watch.confirm(7, 7);
  await settled();
  watch.confirm(7, 7);
  await settled();
  expect(reads).toHaveLength(1);
});
