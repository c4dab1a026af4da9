import { ClusterProcesses } from '../support/processes/cluster-processes';
import { differencesOf, replicaDigests, type HeldReplica } from '../support/shards/replica-digests';

const digest = (content: string) => ({ appliedSequence: 7, items: 2, content, order: 'o', sessions: 's' });
const replica = (node: string, shard: string, content: string): HeldReplica => ({
  node,
  shard,
  digest: digest(content),
});

test('replicas that hold the same do not differ, those that do not are named', () => {
  expect(differencesOf([replica('a', 'x/0', '1'), replica('b', 'x/0', '1'), replica('a', 'x/1', '2')])).toEqual([]);
  const [sentence, ...more] = differencesOf([
    replica('a', 'x/0', '1'),
    replica('b', 'x/0', '2'),
    replica('b', 'x/1', '2'),
  ]);
  expect(more).toEqual([]);
  expect(sentence).toContain('replicas of x/0 differ');
});

test('a cluster’s nodes tell what their replicas hold, and a write changes it on both', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, shards: 2, replicas: 2 });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'c', dim: 2 });
    await cluster.settled();
    const look = () =>
      replicaDigests(
        cluster.nodes.map(({ id, port }) => ({ id, address: `127.0.0.1:${port}` })),
        'secret-of-a-test-cluster',
      );
    const put = (id: string, text: string) =>
      cluster.data('POST', '/v1/collections/c/upsert', { external_id: id, vector: [1, 2], metadata: { text } });
    for (let i = 0; i < 20; i += 1) await put(`v${i}`, 'old');
    const before = await look();
    expect(before).toHaveLength(4);
    expect(differencesOf(before)).toEqual([]);
    expect(before.reduce((sum, { digest: { items } }) => sum + items, 0)).toBe(40);
    await put('v0', 'new');
    const after = await look();
    expect(differencesOf(after)).toEqual([]);
    const changed = after.filter(
      ({ node, shard, digest: { content } }) =>
        before.find((one) => one.node === node && one.shard === shard)?.digest.content !== content,
    );
    expect(changed.map(({ node }) => node).sort()).toEqual(['node-0', 'node-1']);
    // What is compared with another shard's is different.
    const [first, second] = [...new Set(after.map(({ shard }) => shard))];
    expect(
      differencesOf(after.map((held) => ({ ...held, shard: held.shard === second ? first : held.shard }))),
    ).toHaveLength(1);
  } finally {
    await cluster.destroy();
  }
});
