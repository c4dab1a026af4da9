import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

/** The write-ahead logs of the shards below a node's data folder that hold something. */
function logsOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.endsWith('/records') && entry.name.endsWith('.log'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size > 0);
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
      await node.kill();
      const [log] = logsOf(node.dataDir).filter((path) => path.includes(ledger));
      expect(log).toBeDefined();
      const shard = join(log, '../..');
      rmSync(`${shard}.retired`, { recursive: true, force: true });
      harm(log);
      await node.start();
      await cluster.settled();
      expect([name, existsSync(`${shard}.retired`)]).toEqual([name, name !== 'its folder is gone']);
      expect((await cluster.data('GET', '/v1/collections/alone/export')).vectors).toHaveLength(items.length);
      // What it came back with is served, too.
      const { in_sync: inSync } = (await cluster.data('GET', '/v1/cluster')).shards.find((one: { collection: string; shard: number }) => one.collection === COLLECTION && one.shard === 0);
      const other = cluster.nodes.find(({ id }) => id !== node.id && inSync.includes(id));
      expect(other).toBeDefined();
      await other?.kill();
      await eventually(
        'it leads',
        () =>
          cluster.primaryOf(COLLECTION).then(
            ({ id }) => id === node.id,
            () => false,
          ),
        60_000,
      );
      await writes(50);
      await other?.start();
      await cluster.settled();
    }
  });
}, 400_000);
