import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

/**
 * More entries than a log keeps (4096, and 1024 more before it is trimmed), so that an empty replica can't be brought back
 * by the log alone. They are small: as many bytes as a log keeps take longer.
 */
const WRITES = 5_300;
/** So many share each sync of the disk. */
const WRITERS = 64;

test('a replica that the log can not bring back gets a copy of the records, under load', async () => {
  await underLoad('copy-a-shard', { shards: 1, replicas: 2, environment: { LOG_LEVEL: 'info' } }, async ({ cluster }) => {
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < WRITES) {
        const number = next++;
        const item = { external_id: `filler-${number}`, vector: [number, 1, 2, 3], metadata: { value: -number } };
        // On a busy machine a call may be told that it may be retried.
        await eventually('a write is stored', async () => (await cluster.call('POST', `/v1/collections/${COLLECTION}/upsert`, item)).status === 'success', 90_000);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await cluster.settled();
    const { primary: leader, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const follower = cluster.nodes.find(({ id }) => id !== leader && inSync.includes(id))!;
    await cluster.killSpared(follower);
    follower.wipe();
    await follower.start();
    await eventually('a copy was made', () => cluster.nodes.some(({ output }) => output.includes('copied a shard')), 90_000);
    await cluster.settled();
    // The copy leads: everything is there.
    await cluster.leadBy(follower, COLLECTION);
    const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`);
    expect(count).toBeGreaterThanOrEqual(WRITES);
  });
});
