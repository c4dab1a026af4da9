import { ClusterProcesses } from '../support/processes/cluster-processes';

/** Quotas of a whole cluster: five replicas a node, two nodes, two coordinators that create at once. */

let cluster: ClusterProcesses;

beforeAll(async () => {
  cluster = await ClusterProcesses.start({
    nodes: 2,
    coordinators: 2,
    replicas: 2,
    shards: 1,
    environment: { MAX_SHARDS: '5', MAX_COLLECTIONS: '100' },
  });
});

afterAll(() => cluster?.destroy());

const create = (coordinator: number, name: string, more: object = {}) =>
  cluster.call('POST', '/v1/collections', { name, dim: 2, ...more }, coordinator);

test('however they are created, there are never more replicas than the nodes have room for', async () => {
  const outcomes = await Promise.all(Array.from({ length: 16 }, (_, i) => create(i % 2, `c${i}`)));
  const refused = outcomes.flatMap(({ error }) => (error === null ? [] : [error]));
  expect(refused).toHaveLength(11);
  for (const error of refused)
    expect(error).toEqual({
      code: 400,
      message:
        'the collection needs 2 replicas of shards, and 10 of at most 10 are taken: the limit comes from MAX_SHARDS of the nodes (2) together',
    });
  const { nodes } = (await cluster.call('GET', '/v1/cluster')).data;
  expect(nodes.map(({ primaries, replicas }: { primaries: number; replicas: number }) => primaries + replicas)).toEqual(
    [5, 5],
  );
});

test('a deleted collection makes room again, and a name that exists is told as such', async () => {
  const [{ name }] = (await cluster.call('GET', '/v1/collections')).data.collections;
  expect((await create(0, name)).error).toMatchObject({ code: 409 });
  await cluster.call('DELETE', `/v1/collections/${name}`);
  expect((await create(1, 'wide', { shards: 2, replicas: 1 })).error).toBeNull();
  expect((await create(0, 'more', { replicas: 1 })).error).toMatchObject({ code: 400 });
});
