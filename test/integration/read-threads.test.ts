import { ClusterProcesses } from '../support/processes/cluster-processes';
import { eventually } from '../support/eventually';
import type { MemberProcess } from '../support/processes/member-process';
import { runSeed, seededRandom } from '../support/values/random';

/** Storage nodes whose threads answer reads (READ_THREADS), in a cluster of real processes. */

const DIM = 8;
const ITEMS = 600;

let cluster: ClusterProcesses;
const random = seededRandom(runSeed('read threads in a cluster'));
const vector = (): number[] => Array.from({ length: DIM }, () => random() - 0.5);
const items = Array.from({ length: ITEMS }, (_, i) => ({
  external_id: `v-${i}`,
  vector: vector(),
  metadata: { part: i % 10 },
}));

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, shards: 2, replicas: 2 });
  await cluster.data('POST', '/v1/collections', { name: 'c', dim: DIM });
  await cluster.data('POST', '/v1/collections/c/bulk_upsert', { items });
  await cluster.inSync();
});

afterAll(async () => cluster?.destroy());

/** Searches on the threads of a node since its start, by outcome. */
async function threadSearches(node: MemberProcess): Promise<{ answered: number; passedOn: number }> {
  const text = await (await fetch(`http://127.0.0.1:${node.opsPort}/metrics`)).text();
  const of = (outcome: string): number =>
    Number(new RegExp(`quiver_thread_searches_total\\{[^}]*outcome="${outcome}"[^}]*\\} (\\d+)`).exec(text)?.[1] ?? 0);
  return { answered: of('answered'), passedOn: of('passed_on') };
}

async function allThreadSearches(): Promise<{ answered: number; passedOn: number }> {
  const all = await Promise.all(cluster.nodes.filter((node) => node.isRunning).map(threadSearches));
  return all.reduce((sum, one) => ({ answered: sum.answered + one.answered, passedOn: sum.passedOn + one.passedOn }));
}

test('threads of the nodes answer searches, filtered ones too, with what the main thread answers', async () => {
  // The connections to the threads are made beside the first reads.
  await eventually('threads of both nodes answer', async () => {
    await cluster.data('POST', '/v1/collections/c/search', { vector: vector(), k: 5 });
    return (await Promise.all(cluster.nodes.map(threadSearches))).every(({ answered }) => answered > 0);
  });
  for (let round = 0; round < 20; round += 1) {
    const query = { vector: vector(), k: 200, ...(round % 2 === 1 && { filters: { part: round % 10 } }) };
    const found = await cluster.data('POST', '/v1/collections/c/search', query);
    // Exact ones are the main thread's.
    const exact = await cluster.data('POST', '/v1/collections/c/search', { ...query, exact: true });
    expect(found.results.slice(0, 10)).toEqual(exact.results.slice(0, 10));
  }
  // A scrape may show one of a moment ago.
  await eventually('all are counted', async () => {
    const { answered, passedOn } = await allThreadSearches();
    return answered >= 40 && passedOn >= 40;
  });
});
