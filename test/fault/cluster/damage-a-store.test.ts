import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COLLECTION, underLoad } from './under-load';

/** The write-ahead log of a shard's records. */
function logOf(shardFolder: string): string {
  const records = join(shardFolder, 'records');
  const logs = readdirSync(records)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(records, name))
    .filter((path) => statSync(path).size > 0);
  expect(logs).not.toEqual([]);
  return logs[0];
}

const HARMS: Record<string, (log: string) => void> = {
  'a bit of its log is flipped': (log) => {
    const bytes = readFileSync(log);
    bytes[Math.floor(bytes.length / 2)] ^= 0x10;
    writeFileSync(log, bytes);
  },
  'its log is cut short': (log) => truncateSync(log, Math.floor(statSync(log).size / 2)),
  'its log is gone': (log) => rmSync(log),
  'its folder is gone': (log) => rmSync(join(log, '../..'), { recursive: true }),
};

/** The folder of the only collection that there is so far: its uid. */
function ledgerFolder(dataDirs: string[]): string {
  const uids = new Set(dataDirs.flatMap((dataDir) => readdirSync(join(dataDir, 'node', 'shards'))));
  expect(uids.size).toBe(1);
  return [...uids][0];
}

test('a shard whose data were damaged or lost is copied anew, and no other shard of its node is touched', async () => {
  await underLoad('damage-a-store', { replicas: 2 }, async ({ cluster, writes }) => {
    const ledger = ledgerFolder(cluster.nodes.map(({ dataDir }) => dataDir));
    // One replica for each of its shards, on whichever nodes: what happens to another shard's data must not touch them.
    await cluster.data('POST', '/v1/collections', { name: 'alone', dim: 2, shards: 3, replicas: 1 });
    const items = Array.from({ length: 30 }, (_, i) => ({ external_id: `a${i}`, vector: [i, 1] }));
    await cluster.data('POST', '/v1/collections/alone/bulk_upsert', { items });
    for (const [name, harm] of Object.entries(HARMS)) {
      const node = await cluster.primaryOf(COLLECTION);
      await cluster.killSpared(node);
      const shard = join(node.dataDir, 'node', 'shards', ledger, '0');
      rmSync(`${shard}.retired`, { recursive: true, force: true });
      harm(logOf(shard));
      await node.start();
      await cluster.settled();
      expect([name, existsSync(`${shard}.retired`)]).toEqual([name, name !== 'its folder is gone']);
      expect((await cluster.data('GET', '/v1/collections/alone/export')).vectors).toHaveLength(items.length);
      // What it came back with is served, too.
      await cluster.leadBy(node, COLLECTION);
      await writes(50);
    }
  });
}, 400_000);
