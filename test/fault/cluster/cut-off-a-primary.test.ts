import { COLLECTION, underLoad } from './under-load';

/** Reads and writes of a shard are back within this time after its primary was cut off. */
const FAILOVER_MS = 10_000;

test.each(['cut', 'silence'] as const)(
  'a primary that nobody reaches any more (%s) is replaced, though it reaches the others and etcd',
  async (how) => {
    const workload = await underLoad(`cut-off-a-primary-${how}`, { replicas: 2, proxied: true }, async ({ cluster, pass }) => {
      const primary = await cluster.primaryOf(COLLECTION);
      const ways = cluster.ways.get(primary.id);
      await ways?.in[how]();
      await pass(9_000);
      const after = await cluster.primaryOf(COLLECTION);
      expect(after.id).not.toBe(primary.id);
      await ways?.in.restore();
      await pass(3_000);
    });
    expect(workload.slowestMs()).toBeLessThan(FAILOVER_MS);
  },
  180_000,
);

test('a primary that is cut off from etcd loses its lead, and nothing that it acknowledged', async () => {
  const workload = await underLoad('cut-off-from-etcd', { replicas: 2, proxied: true }, async ({ cluster, pass }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    const ways = cluster.ways.get(primary.id);
    await ways?.etcd.silence();
    await pass(8_000);
    await ways?.etcd.restore();
    await pass(3_000);
  });
  expect(workload.acknowledged).toBeGreaterThan(200);
}, 180_000);

test('a follower that is cut off leaves the in-sync set and is back in it afterwards', async () => {
  const workload = await underLoad('cut-off-a-follower', { replicas: 2, shards: 1, proxied: true }, async ({ cluster, pass }) => {
    const { shards } = await cluster.data('GET', '/v1/cluster');
    const follower = shards[0].in_sync.find((id: string) => id !== shards[0].primary);
    await cluster.ways.get(follower)?.in.cut();
    await pass(4_000);
    const [during] = (await cluster.data('GET', '/v1/cluster')).shards;
    expect(during).toMatchObject({ state: 'degraded', in_sync: [shards[0].primary] });
    await cluster.ways.get(follower)?.in.restore();
  });
  expect([...workload.errors]).toEqual([]);
}, 180_000);
