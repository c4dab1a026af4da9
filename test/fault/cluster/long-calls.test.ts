import { get } from 'node:http';
import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { mainThreadTimeOf } from '../../support/processes/processor-time';
import { sharedCluster } from './shared-cluster';

/** Calls that keep a node busy for long: what happens meanwhile. */

/** Items that a delete by filter looks at, and those that it deletes. */
const ITEMS = 12_000;
const MATCHES = ITEMS / 3;
/** Of the processor, for whatever comes before an answer: far below what such writes once took. */
const LATE_MS = 1_000;
/** A node that is kept from the processor for so long may lose its leads, rightly. */
const KEPT_MS = 1_000;
const COLLECTION = 'texts';

interface ShardView {
  collection: string;
  shard: number;
  epoch: number;
  primary: string;
}

/**
 * Asks every node for /livez again and again. Answers when told to stop, in milliseconds: the most that a node's main
 * thread worked before an answer, and the longest that one was late without working.
 */
function watchNodes(cluster: ClusterProcesses): () => Promise<{ busyMs: number; keptMs: number }> {
  let isOver = false;
  let [busyMs, keptMs] = [0, 0];
  const watching = cluster.nodes.map(async ({ opsPort, pid }) => {
    while (!isOver) {
      const startMs = performance.now();
      const before = mainThreadTimeOf(pid) ?? 0;
      const status = await new Promise<number | undefined>((done, fail) => {
        // A connection for each: one that is kept may be closed by the other side while this process is late.
        get({ port: opsPort, path: '/livez', agent: false }, (answer) => {
          answer.resume().once('end', () => done(answer.statusCode));
        }).once('error', fail);
      });
      if (status !== 200) throw new Error(`/livez answered ${status}`);
      const workedMs = (mainThreadTimeOf(pid) ?? before) - before;
      busyMs = Math.max(busyMs, workedMs);
      keptMs = Math.max(keptMs, performance.now() - startMs - workedMs);
      await new Promise((wake) => setTimeout(wake, 20));
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(watching);
    return { busyMs, keptMs };
  };
}

/** Words that are hardly ever met twice: each has to be stemmed. */
function newWords(units: number): string {
  const words: string[] = [];
  for (let i = 0, length = 0; length < units; i++) {
    words.push(((i * 2_654_435_761) % 2 ** 32).toString(36).replace(/\d/g, 'ing'));
    length += words[i].length + 1;
  }
  return words.join(' ').slice(0, units);
}

const on = sharedCluster({ coordinators: 1 });

test('texts and metadata that take long to analyse lose no lead of a replicated shard', async () => {
  await on.runs(async (cluster) => {
    await cluster.data('POST', '/v1/collections', { name: COLLECTION, dim: 2, language: 'en', shards: 1, replicas: 3 });
    await cluster.settled();
    const leads = async (): Promise<ShardView[]> => {
      const { shards } = await cluster.data<{ shards: ShardView[] }>('GET', '/v1/cluster');
      return shards.map(({ collection, shard, epoch, primary }) => ({ collection, shard, epoch, primary }));
    };
    const before = await leads();
    const vector = [1, 0];
    const poisoned = `${'\u0640'.repeat(100_000)}'s`;
    const longest = newWords(262_144);
    const items = Array.from({ length: 1000 }, (_, i) => ({
      external_id: `item-${i}`,
      vector,
      metadata: { number: i, values: Array.from({ length: 1000 }, (_, j) => i * 1000 + j) },
    }));

    const stop = watchNodes(cluster);
    await cluster.data('POST', `/v1/collections/${COLLECTION}/upsert`, {
      external_id: 'poisoned',
      vector,
      text: poisoned,
    });
    await cluster.data('POST', `/v1/collections/${COLLECTION}/upsert`, {
      external_id: 'longest',
      vector,
      text: longest,
    });
    await cluster.data('POST', `/v1/collections/${COLLECTION}/bulk_upsert`, { items });
    // The followers apply it after the answer.
    await cluster.settled();
    const { busyMs, keptMs } = await stop();

    if (keptMs < KEPT_MS) expect(await leads()).toEqual(before);
    expect(busyMs).toBeLessThan(LATE_MS);
    const search = await cluster.data('POST', `/v1/collections/${COLLECTION}/search`, {
      vector,
      k: 2,
      filters: { values: 999_001 },
    });
    expect(search.results.map((hit: { external_id: string }) => hit.external_id)).toEqual(['item-999']);
    const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`);
    expect(count).toBe(1002);
    expect(await cluster.differences()).toEqual([]);
    console.log(`nodes worked for at most ${busyMs} ms at once, and were kept from it for ${keptMs.toFixed(0)} ms`);
  });
});

/** Repeated until it succeeds, it has deleted the matches and nothing else. */
test('kill -9 of a primary in the middle of a delete by filter', async () => {
  await on.runs(async (cluster) => {
    await cluster.data('POST', '/v1/collections', { name: 'deleted', dim: 4, shards: 3, replicas: 2 });
    await cluster.settled();
    for (let at = 0; at < ITEMS; at += 1000) {
      const items = Array.from({ length: 1000 }, (_, i) => ({
        external_id: `v${at + i}`,
        vector: [1, at, i, 0],
        metadata: { third: (at + i) % 3 },
      }));
      await cluster.data('POST', '/v1/collections/deleted/bulk_upsert', { items });
    }
    const primary = await cluster.primaryOf('deleted', 1);
    const send = () => cluster.call('POST', '/v1/collections/deleted/delete_by_filter', { filters: { third: 1 } });
    const first = send();
    await primary.kill();
    // Where no other was in sync on a busy machine, only it can go on.
    if (!(await cluster.isSpared(primary))) await primary.start();
    let answer = await first;
    let counted = answer.data?.deleted_count ?? 0;
    await eventually('a delete succeeds', async () => {
      if (answer.status === 'success') return true;
      expect(answer.error).toMatchObject({ code: 500, message: expect.stringMatching(/repeat|retried/) });
      counted += Number(/^(\d+) vectors were deleted/.exec(answer.error?.message ?? '')?.[1] ?? 0);
      answer = await send();
      counted += answer.data?.deleted_count ?? 0;
      return answer.status === 'success';
    });
    expect(counted).toBeLessThanOrEqual(MATCHES);
    expect((await send()).data).toEqual({ deleted_count: 0 });
    const { vectors } = await cluster.data('GET', '/v1/collections/deleted/export?limit=100000');
    expect(
      vectors
        .map(({ metadata }: { metadata: { third: number } }) => metadata.third)
        .filter((third: number) => third === 1),
    ).toEqual([]);
    expect(vectors).toHaveLength(ITEMS - MATCHES);
    if (!primary.isRunning) await primary.start();
    await cluster.settled();
    expect((await cluster.data('GET', '/v1/collections/deleted')).vector_count).toBe(ITEMS - MATCHES);
  });
});
