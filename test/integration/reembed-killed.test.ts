import { eventually } from '../support/eventually';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { runSeed, seededRandom } from '../support/values/random';

/** Vectors of another dimension that are made while processes are killed: they come, go back, and nothing is lost. */

const ITEMS = 600;
/** Items that are written, or changed, from one kill to the next. */
const LATER = 40;
const OLD_DIM = 16;
const NEW_DIM = 40;
const random = seededRandom(runSeed('reembedding beside kills'));
const words = (count: number): string =>
  Array.from({ length: count }, () => `w${Math.floor(200 ** random())}`).join(' ');

type Call = <Data = any>(method: string, path: string, body?: unknown) => Promise<{ status: string; data: Data }>;

/** A collection whose items are known. */
class Story {
  private readonly texts = new Map<string, string>();
  private next = 0;

  constructor(private readonly call: Call) {}

  async begin(): Promise<void> {
    await this.create('c', OLD_DIM, 2);
    await this.write(ITEMS);
  }

  /** Until it is taken: of what a killed process had, nobody knows what became. */
  async write(count = LATER): Promise<void> {
    const items = Array.from({ length: count }, (_, i) => {
      // Some are there already.
      const external_id = i % 4 === 3 ? `i${Math.floor(random() * this.next)}` : `i${this.next++}`;
      return { external_id, text: words(8) };
    });
    for (const { external_id: id, text } of items) this.texts.set(id, text);
    await this.until('POST', '/v1/collections/c/bulk_upsert', { items });
    const gone = [...this.texts.keys()].slice(0, 3);
    for (const id of gone) this.texts.delete(id);
    await this.until('POST', '/v1/collections/c/delete_batch', { external_ids: gone });
  }

  async reembed(): Promise<string> {
    const asked = { model: 'local:builtin', dim: NEW_DIM, compare: { sample: 20 } };
    return (await this.until('POST', '/v1/collections/c/reembed', asked)).id;
  }

  async reaches(id: string, ...steps: string[]): Promise<any> {
    let job: any;
    await eventually(`job ${id} is ${steps.join(' or ')}`, async () => {
      job = (await this.call('GET', `/v1/jobs/${id}`).catch(() => null))?.data;
      expect([job?.state, job?.error]).not.toEqual(['failed', expect.anything()]);
      return steps.includes(job?.step) || steps.includes(job?.state);
    });
    return job;
  }

  async until(method: string, path: string, body?: object): Promise<any> {
    let data: any;
    await eventually(`${method} ${path}`, async () => {
      const answer = await this.call(method, path, body).catch(() => null);
      data = answer?.data;
      return answer?.status === 'success';
    });
    return data;
  }

  /** Every vector is what one has that was made at once. */
  async expectVectors(dim: number): Promise<void> {
    const twin = `twin-${dim}`;
    await this.create(twin, dim, 1);
    const all = [...this.texts].map(([external_id, text]) => ({ external_id, text }));
    for (let at = 0; at < all.length; at += 200)
      await this.until('POST', `/v1/collections/${twin}/bulk_upsert`, { items: all.slice(at, at + 200) });
    expect(await this.until('GET', '/v1/collections/c')).toMatchObject({ dim, vector_count: all.length });
    for (let at = 0; at < all.length; at += 100) {
      const ids = all.slice(at, at + 100).map(({ external_id: id }) => id);
      const [own, of] = await Promise.all(
        ['c', twin].map(async (name) =>
          (await this.until('POST', `/v1/collections/${name}/vectors/fetch`, { ids })).vectors.map((one: any) => [
            one.external_id,
            one.text,
            one.vector,
          ]),
        ),
      );
      expect(own).toEqual(of);
    }
    await this.until('DELETE', `/v1/collections/${twin}`);
  }

  private async create(name: string, dim: number, shards: number): Promise<void> {
    await this.until('POST', '/v1/collections', { name, dim, shards, embedding: { model: 'local:builtin' } });
  }
}

/** `kill`: kills what drives the job and starts it again, while `meanwhile` runs. */
async function story(call: Call, kill: (meanwhile: () => Promise<void>) => Promise<void>): Promise<void> {
  const told = new Story(call);
  await told.begin();
  const id = await told.reembed();
  await kill(() => told.write());
  await told.reaches(id, 'ready');
  await kill(() => told.write());
  await told.reaches(id, 'ready');
  await told.until('POST', `/v1/jobs/${id}/switch`);
  // While the new shards take over, or just after that.
  await kill(() => told.write());
  await told.reaches(id, 'switched');
  await told.write();
  await kill(() => told.write());
  await told.expectVectors(NEW_DIM);
  await told.write();
  await told.until('POST', `/v1/jobs/${id}/back`);
  await kill(() => told.write());
  await told.reaches(id, 'cancelled');
  await told.expectVectors(OLD_DIM);
}

test('an embedded process that is killed goes on where it was', async () => {
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2', EMBEDDING_MODEL: 'builtin' } });
  try {
    await server.start();
    await story(
      (method, path, body) => server.call(method, path, body),
      async (meanwhile) => {
        await server.kill();
        await server.start();
        await meanwhile();
      },
    );
  } finally {
    await server.destroy();
  }
});

test('a cluster changes its vectors though the controller and nodes are killed meanwhile', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 2, shards: 2, replicas: 3 });
  try {
    let round = 0;
    await story(
      (method, path, body) => cluster.call(method, path, body, 1),
      async (meanwhile) => {
        const node = cluster.nodes[round++ % cluster.nodes.length];
        await cluster.coordinators[0].kill();
        await node.kill();
        await meanwhile();
        await cluster.coordinators[0].start();
        await node.start();
        await cluster.settled();
      },
    );
    await cluster.settled();
    await cluster.inSync();
    expect(await cluster.differences()).toEqual([]);
  } finally {
    await cluster.destroy();
  }
});
