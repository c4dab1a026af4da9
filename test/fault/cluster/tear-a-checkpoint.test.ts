import { readdirSync, statSync, truncateSync, writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COLLECTION, underLoad } from './under-load';

/** The files of every checkpoint below a node's data folder: what can be made again from the records. */
function checkpointFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\/checkpoints?[^/]*\//.test(path) && statSync(path).size > 0);
}

test('a node whose checkpoints were cut short or changed comes back with every record', async () => {
  await underLoad('tear-a-checkpoint', { replicas: 2 }, async ({ cluster, writes }) => {
    for (const harm of ['cut', 'change'] as const) {
      const node = await cluster.primaryOf(COLLECTION);
      expect(await node.stop()).toBe(0);
      const files = checkpointFiles(node.dataDir);
      expect(files.length).toBeGreaterThan(0);
      for (const path of files) {
        if (harm === 'cut') truncateSync(path, Math.floor(statSync(path).size / 2));
        else
          writeFileSync(
            path,
            readFileSync(path).map((byte, i) => (i % 64 === 7 ? byte ^ 0x5a : byte)),
          );
      }
      await node.start();
      await cluster.settled();
      // What it came back with is served, too.
      await cluster.leadBy(node, COLLECTION);
      await writes(50);
    }
  });
});
