import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';

/** Pages of one search, of which the first are answered by other replicas and coordinators than the last. */

const on = sharedCluster({ nodes: 3, coordinators: 2, replicas: 2, shards: 2 });
const ITEMS = Array.from({ length: 120 }, (_, n) => ({
  external_id: `i${String(n).padStart(3, '0')}`,
  vector: [1, n / 50],
  text: n % 2 === 0 ? 'a red stone' : 'a red river',
  metadata: { n, kind: `kind ${n % 40}` },
}));
const K = 10;

interface Page {
  hits: { external_id: string }[];
  next: string | null;
}

const BOOSTED = [{ field: 'n', modifier: 'log1p', weight: 0.1 }];

/** Once both shards have somebody to ask. */
async function asked(cluster: ClusterProcesses, body: object, coordinator: number): Promise<Page> {
  let page: Page;
  await eventually('a page', async () => {
    const path = '/v1/collections/c/search';
    const { status, data: found, error } = await cluster.call('POST', path, { k: K, ...body }, coordinator);
    if (status !== 'success' && error!.code !== 503) throw new Error(JSON.stringify(error));
    const { results, groups = [], next_cursor: next } = found ?? {};
    page = { hits: results ?? groups.flatMap(({ hits }: any) => hits), next };
    return status === 'success';
  });
  return page!;
}

test.each<{ name: string; body: object }>([
  { name: 'nearest', body: { vector: [1, 0] } },
  {
    name: 'boosted, of few of a kind',
    body: { vector: [1, 0], boosts: BOOSTED, diversity: { field: 'kind', at_most: 3 } },
  },
  { name: 'in groups', body: { vector: [1, 0], group_by: 'n' } },
])('a list goes on where it was when its primary is killed and another leads ($name)', async ({ body }) => {
  await on.runs(async (cluster) => {
    await cluster.data('POST', '/v1/collections', { name: 'c', dim: 2 });
    await cluster.data('POST', '/v1/collections/c/bulk_upsert', { items: ITEMS });
    await cluster.settled();
    const { hits: whole } = await asked(cluster, { ...body, k: ITEMS.length }, 0);
    expect(whole).toHaveLength(ITEMS.length);
    const found: { external_id: string }[] = [];
    const read = async (cursor: string, coordinator: number): Promise<string | null> => {
      const { hits, next } = await asked(cluster, { ...body, cursor }, coordinator);
      found.push(...hits);
      return next;
    };
    let cursor = await read((await read('first', 0))!, 1);

    const primary = await cluster.primaryOf('c');
    await cluster.replaced(primary, 'c', 0, { begin: () => primary.kill(), end: () => primary.start() });
    cursor = await read(cursor!, 0);
    // Of what is to come, one changes and one goes; what is added is none of the list.
    const given = new Set(found.map(({ external_id: id }) => id));
    const [changed, gone] = ITEMS.filter(({ external_id: id }) => !given.has(id));
    const write = async (method: string, path: string, sent?: object): Promise<void> =>
      eventually('a write', async () => {
        const { status, error } = await cluster.call(method, `/v1/collections/c/${path}`, sent);
        // An earlier attempt has deleted it.
        return status === 'success' || error!.code === 404;
      });
    await write('POST', 'upsert', { ...changed, metadata: { n: 0 } });
    await write('DELETE', `delete/${gone.external_id}`);
    await write('POST', 'upsert', { ...ITEMS[0], external_id: 'new' });
    cursor = await read(cursor!, 1);
    await primary.start();
    await cluster.settled();
    for (let page = 0; cursor !== null; page += 1) cursor = await read(cursor, page % 2);

    const idsOf = (hits: { external_id: string }[]): string[] => hits.map(({ external_id: id }) => id);
    const left = idsOf(whole).filter((id) => id !== changed.external_id && id !== gone.external_id);
    expect(idsOf(found)).toEqual(left);
  });
});
