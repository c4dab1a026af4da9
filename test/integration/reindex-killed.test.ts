import { eventually } from '../support/eventually';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { runSeed, seededRandom } from '../support/values/random';

/** Another keyword index that is made while processes are killed: it comes, and nothing is lost. */

const DIM = 4;
const ITEMS = 2_000;
const LATER = 200;
const FIELDS = [
  { path: 'title', weight: 3 },
  { path: 'text', weight: 1 },
];
const random = seededRandom(runSeed('reindexing beside kills'));
const word = (): string => `w${Math.floor(200 ** random())}`;
const words = (count: number): string => Array.from({ length: count }, word).join(' ');
const items = Array.from({ length: ITEMS + LATER }, (_, i) => ({
  external_id: `i${i}`,
  vector: Array.from({ length: DIM }, () => random() - 0.5),
  text: words(12),
  metadata: { title: words(3), note: words(2) },
}));
const QUERIES = Array.from({ length: 12 }, () => ({
  query_text: words(3),
  vector: items[0].vector,
  mode: 'keyword',
  explain: true,
  k: 50,
}));

type Call = <Data = any>(method: string, path: string, body?: unknown) => Promise<{ status: string; data: Data }>;

/** By keywords, with scores that take the statistics of the whole collection. */
async function found(call: Call, name: string, more: object): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const query of QUERIES) {
    const { status, data } = await call('POST', `/v1/collections/${name}/hybrid_search`, { ...query, ...more });
    expect(status).toBe('success');
    answers.push(data.results.map((hit: any) => [hit.external_id, hit.keyword_score]));
  }
  return answers;
}

/** Until it is taken: of what a killed process had, nobody knows what became. */
async function written(call: Call, name: string, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 100)
    await eventually(`items from ${at} on are stored in ${name}`, async () => {
      const body = { items: items.slice(at, Math.min(to, at + 100)) };
      return (await call('POST', `/v1/collections/${name}/bulk_upsert`, body).catch(() => null))?.status === 'success';
    });
}

/** `kills`: what happens while the job is under way. */
async function story(call: Call, kills: (write: (from: number, to: number) => Promise<void>) => Promise<void>) {
  const made = { dim: DIM, shards: 2 };
  expect((await call('POST', '/v1/collections', { name: 'c', ...made })).status).toBe('success');
  await written(call, 'c', 0, ITEMS);
  const { data } = await call('PATCH', '/v1/collections/c', { keyword_fields: FIELDS });
  await kills((from, to) => written(call, 'c', ITEMS + from, ITEMS + to));
  await eventually('the job is done', async () => {
    const job = (await call('GET', `/v1/jobs/${data.job_id}`).catch(() => null))?.data;
    expect(['failed', 'cancelled']).not.toContain(job?.state);
    return job?.state === 'done';
  });
  const twin = { name: 'twin', ...made, shards: 1, keyword_fields: FIELDS };
  expect((await call('POST', '/v1/collections', twin)).status).toBe('success');
  await written(call, 'twin', 0, items.length);
  const { data: shown } = await call('GET', '/v1/collections/c');
  expect(shown).toMatchObject({ keyword_fields: FIELDS, vector_count: items.length });
  for (const more of [{}, { field_weights: { title: 1, text: 4 } }, { field_weights: { text: 0 }, match: 'all' }])
    expect(await found(call, 'c', more)).toEqual(await found(call, 'twin', more));
}

test('a cluster changes keyword_fields though each node and the controller are killed meanwhile', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 2, shards: 2, replicas: 3 });
  try {
    const call: Call = (method, path, body) => cluster.call(method, path, body, 1);
    await story(call, async (write) => {
      const [first, ...others] = cluster.nodes;
      await first.kill();
      await write(0, 50);
      await first.start();
      await cluster.coordinators[0].kill();
      await write(50, 100);
      await cluster.coordinators[0].start();
      for (const [i, node] of others.entries()) {
        await cluster.settled();
        await node.kill();
        await write(100 + 50 * i, 150 + 50 * i);
        await node.start();
      }
    });
    await cluster.settled();
    await cluster.inSync();
    expect(await cluster.differences()).toEqual([]);
  } finally {
    await cluster.destroy();
  }
});

test('an embedded process that is killed goes on where it was', async () => {
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
  try {
    await server.start();
    const call: Call = (method, path, body) => server.call(method, path, body);
    await story(call, async (write) => {
      await server.kill();
      await server.start();
      await write(0, 100);
      await server.kill();
      await server.start();
      await write(100, LATER);
    });
  } finally {
    await server.destroy();
  }
});
