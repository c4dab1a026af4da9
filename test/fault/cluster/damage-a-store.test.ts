import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

test('a shard whose data were damaged or lost is copied anew, and no other shard of its node is touched', async () => {
  await underLoad('damage-a-store', { replicas: 2 }, async ({ cluster, pass }) => {
    for (const harm of Object.values(HARMS)) {
      const node = await cluster.primaryOf(COLLECTION);
      await node.kill();
      const logs = logsOf(node.dataDir);
      expect(logs.length).toBeGreaterThan(0);
      harm(logs[0]);
      await node.start();
      await cluster.settled();
      // What it came back with is served, too.
      const other = cluster.nodes.find((one) => one !== node);
      await other?.kill();
      await pass(3_000);
      await other?.start();
      await cluster.settled();
    }
    const put = cluster.nodes.flatMap(({ dataDir }) => readdirSync(dataDir, { recursive: true, encoding: 'utf8' })).filter((path) => path.endsWith('.retired'));
    expect(put.length).toBeGreaterThan(0);
  });
}, 400_000);
