import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

/**
 * More bytes than a log keeps (64 MiB, and 32 MiB more before it is trimmed), so that an empty replica can't be brought
 * back by the log alone: four writes, each near the largest body that is taken.
 */
const WRITES = 4;
const ITEMS = 512;
const DIM = 16_384;

/** A vector of 64 KiB, as base64. */
function vectorOf(number: number): string {
  return Buffer.from(Float32Array.from({ length: DIM }, (_, i) => number + i).buffer).toString('base64');
}

test('a replica that the log can not bring back gets a copy of the records, under load', async () => {
  await underLoad('copy-a-shard', { shards: 1, replicas: 2, environment: { LOG_LEVEL: 'info' } }, async ({ cluster }) => {
    await cluster.data('POST', '/v1/collections', { name: 'large', dim: DIM });
    for (let write = 0; write < WRITES; write += 1) {
      const items = Array.from({ length: ITEMS }, (_, i) => ({ external_id: `${write}-${i}`, vector: vectorOf(write * ITEMS + i) }));
      await cluster.data('POST', '/v1/collections/large/bulk_upsert', { items });
    }
    await cluster.settled();
    const { primary, in_sync: inSync } = await cluster.shardOf('large');
    const follower = cluster.nodes.find(({ id }) => id !== primary && inSync.includes(id))!;
    await cluster.killSpared(follower);
    follower.wipe();
    await follower.start();
    await eventually('a copy was made', () => cluster.nodes.some(({ output }) => output.includes('copied a shard')), 90_000);
    await cluster.settled();
    // The copy leads: everything is there.
    await cluster.leadBy(follower, 'large');
    const { vector_count: count } = await cluster.data('GET', '/v1/collections/large');
    expect(count).toBe(WRITES * ITEMS);
  });
});
