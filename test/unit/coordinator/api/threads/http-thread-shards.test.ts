import { MessageChannel } from 'node:worker_threads';
import { HttpThreadShards } from '../../../../../coordinator/api/threads/http-thread-shards';
import { outcomesToBytes, versionsToBytes } from '../../../../../shared/wire/codecs/outcome-codec';
import { HandedBack, ThreadPeer } from '../../../../../shared/base/threads/thread-peer';
import { systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';
import type { VectorSearch, VectorSearchResult } from '../../../../../shared/contract/shard/shard-read';

const ID = { collectionUid: 'c', shard: 0 };
const NOTHING: VectorSearchResult = { hits: [], vectorCount: 0 };

function search(vector: Float32Array): VectorSearch {
  return { vector, k: 1, filter: null, effort: { type: 'calibrated' }, texts: false };
}

/** Shards over a main thread that answers every read with what it was asked. */
function shards(inline: (request: VectorSearch) => VectorSearchResult | null) {
  const asked: unknown[][] = [];
  const main = {
    ask: async (...args: unknown[]): Promise<any> => {
      asked.push(structuredClone(args));
      return NOTHING;
    },
    hand: async (): Promise<any> => undefined,
  };
  return {
    asked,
    client: new HttpThreadShards({ main, inline: { search: (_id, request) => inline(request) }, clock: systemClock }),
  };
}

test('what can not be answered here goes to the main thread, without the other vectors of its body', async () => {
  const { client, asked } = shards(() => null);
  const body = new Float32Array(10_000).fill(7);
  await client.read(ID, 'search', search(body.subarray(8, 16)), { deadlineMs: systemClock.monotonicMs() + 1_000 });
  const [name, id, kind, request] = asked[0] as [string, object, string, VectorSearch];
  expect([name, id, kind]).toEqual(['shards.read', ID, 'search']);
  expect(request.vector).toEqual(new Float32Array(8).fill(7));
  expect(request.vector.buffer.byteLength).toBe(32);
});

test('an encoded write goes over with its memory, and gets it back with the outcomes', async () => {
  const { port1, port2 } = new MessageChannel();
  const written: unknown[] = [];
  const main = new ThreadPeer(port1, {});
  const there = new ThreadPeer(port2, {
    'shards.writeLent': (payload: Uint8Array, id: object) => {
      written.push(id, [...payload]);
      const result = { outcomes: ['inserted' as const, 'updated' as const], firstVersion: 7, present: [] };
      return new HandedBack(
        [outcomesToBytes(result.outcomes), versionsToBytes(result), payload],
        [payload.buffer as ArrayBuffer],
      );
    },
  });
  const client = new HttpThreadShards({ main, inline: null, clock: systemClock });
  const bytes = Buffer.from(new ArrayBuffer(16), 0, 3);
  bytes.set([4, 5, 6]);
  const {
    result,
    bytes: back,
    isShared,
  } = await client.writeEncoded(ID, bytes, { deadlineMs: systemClock.monotonicMs() + 60_000 });
  expect(written).toEqual([ID, [4, 5, 6]]);
  expect(result).toEqual({ outcomes: ['inserted', 'updated'], firstVersion: 7, present: [] });
  expect([bytes.length, [...back], back.buffer.byteLength, isShared]).toEqual([0, [4, 5, 6], 16, false]);
  main.close('over');
  there.close('over');
  port1.close();
});

test('a long request waits for its turn on the main thread, a short one does not', async () => {
  const { client, asked } = shards(() => null);
  const call = { deadlineMs: systemClock.monotonicMs() + 1_000 };
  const values = Array.from({ length: 2_000 }, (_, i) => i);
  await client.read(
    ID,
    'search',
    { ...search(Float32Array.of(1)), filter: { type: 'in', path: 'year', values: values.slice(0, 100) } },
    call,
  );
  expect(asked.map(([name]) => name)).toEqual(['shards.read']);
  await client.read(
    ID,
    'search',
    { ...search(Float32Array.of(1)), filter: { type: 'in', path: 'year', values } },
    call,
  );
  await client.read(
    ID,
    'search',
    { ...search(Float32Array.of(1)), filter: { type: 'equals', path: 'a', value: 'x'.repeat(200_000) } },
    call,
  );
  expect(asked.map(([name]) => name)).toEqual(['shards.read', 'turn', 'shards.read', 'turn', 'shards.read']);
});

test('many searches at once leave the thread to others in between', async () => {
  const { client, asked } = shards(() => {
    for (const endMs = performance.now() + 2; performance.now() < endMs;);
    return NOTHING;
  });
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(
    Array.from({ length: 40 }, () =>
      client.read(ID, 'search', search(Float32Array.of(1)), { deadlineMs: systemClock.monotonicMs() + 60_000 }),
    ),
  );
  isOver = true;
  // 8 ms of searches in the first round, then at most half as much in each, if the last takes no longer.
  expect(rounds).toBeGreaterThanOrEqual(15);
  expect(asked).toEqual([]);
});

test('no search is overtaken for ever by those that come in', async () => {
  const clock = new ManualClock();
  const inline = {
    search: () => {
      clock.advance(0.5);
      return NOTHING;
    },
  };
  const client = new HttpThreadShards({
    main: { ask: async () => undefined as any, hand: async () => undefined as any },
    inline,
    clock,
  });
  let longestMs = 0;
  let left = 4_000;
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const startMs = clock.monotonicMs();
      await client.read(ID, 'search', search(Float32Array.of(1)), { deadlineMs: Infinity });
      longestMs = Math.max(longestMs, clock.monotonicMs() - startMs);
      await new Promise((next) => setImmediate(next));
    }
  };
  await Promise.all(Array.from({ length: 64 }, caller));
  // All of them take 32 ms.
  expect(longestMs).toBeLessThan(100);
});

test('a search that fails here fails its call', async () => {
  const { client } = shards(() => {
    throw new Error('out of memory');
  });
  await expect(
    client.read(ID, 'search', search(Float32Array.of(1)), { deadlineMs: systemClock.monotonicMs() + 1_000 }),
  ).rejects.toThrow('out of memory');
});
