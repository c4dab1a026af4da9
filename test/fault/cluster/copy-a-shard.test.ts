import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

/** More than a log keeps of entries, so that an empty replica can't be brought back by the log alone. */
const WRITES = 6_000;
/** So many share each sync of the disk. */
const WRITERS = 64;

test('a replica that the log can not bring back gets a copy of the records, under load', async () => {
  await underLoad('copy-a-shard', { shards: 1, replicas: 2, environment: { LOG_LEVEL: 'info' } }, async ({ cluster }) => {
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < WRITES) {
        const number = next++;
        await cluster.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: `filler-${number}`, vector: [number, 1, 2, 3], metadata: { value: -number } });
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await cluster.settled();
    const { primary: leader, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const follower = cluster.nodes.find(({ id }) => id !== leader && inSync.includes(id))!;
    await follower.kill();
    follower.wipe();
    await follower.start();
    await eventually('a copy was made', () => cluster.nodes.some(({ output }) => output.includes('copied a shard')), 60_000);
    await cluster.settled();
    // The copy leads: everything is there.
    await cluster.leadBy(follower, COLLECTION);
    const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`);
    expect(count).toBeGreaterThanOrEqual(WRITES);
  });
});
