import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test.each([
  ['both ways', true, true],
  ['from the primary to the follower', true, false],
  ['from the follower to the primary', false, true],
])('a primary and its follower that no longer reach each other (%s), but everybody else, lose nothing', async (_how, there, back) => {
  const workload = await underLoad(`part-two-nodes-${there}-${back}`, { replicas: 2, shards: 1, parted: true }, async ({ cluster, writes }) => {
    const shard = async () => (await cluster.data('GET', '/v1/cluster')).shards[0];
    const { primary, in_sync: inSync } = await shard();
    const follower = inSync.find((id: string) => id !== primary);
    const cut = [...(there ? [`${primary}>${follower}`] : []), ...(back ? [`${follower}>${primary}`] : [])].map((way) => cluster.between.get(way));
    for (const proxy of cut) proxy?.silence();
    // The primary sends: only what it can't send parts them.
    if (there) await eventually('one of them is alone in sync', async () => (await shard()).in_sync.length === 1);
    await writes(100);
    for (const proxy of cut) await proxy?.restore();
  });
  expect([...workload.errors.keys()].filter((message) => !message.includes('unavailable; the call may be retried'))).toEqual([]);
});
