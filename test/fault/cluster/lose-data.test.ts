import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, underLoad } from './under-load';

/**
 * More entries than a log keeps (4096, and 1024 more before it is trimmed), so that an empty replica can't be brought
 * back by the log alone. They are small: as many bytes as a log keeps take longer.
 */
const WRITES = 5_600;
/** So many share each sync of the disk. */
const WRITERS = 64;

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

/** The folder of the only collection that there was so far, whose story is the first: its uid. */
function ledgerFolder(dataDirs: string[]): string {
  const uids = new Set(dataDirs.flatMap((dataDir) => readdirSync(join(dataDir, 'node', 'shards'))));
  expect(uids.size).toBe(1);
  return [...uids][0];
}

/**
 * The files of every checkpoint below a node's data folder, but for what was put aside: what can be made again from the
 * records.
 */
function checkpointFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\/checkpoints?[^/]*\//.test(path) && !path.includes('.retired') && statSync(path).size > 0);
}

// The log says at this level that a shard was copied.
const on = sharedCluster({ environment: { LOG_LEVEL: 'info' } });

test('a shard whose data were damaged or lost is copied anew, and no other shard of its node is touched', async () => {
  await underLoad('damage-a-store', { on }, async ({ cluster, writes }) => {
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
      await writes(25);
    }
  });
});

test('a node whose checkpoints were cut short or changed comes back with every record', async () => {
  await underLoad('tear-a-checkpoint', { on }, async ({ cluster, writes }) => {
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
      await writes(25);
    }
  });
});

test('a node whose disk is replaced comes back empty, gets copies, and counts as another store meanwhile', async () => {
  await underLoad('replace-a-disk', { on }, async ({ cluster, writes }) => {
    const [node] = cluster.nodes;
    await cluster.killSpared(node);
    // Only then can it be told from the one with the old disk by who is in sync.
    await eventually('the others do without it', async () =>
      (await cluster.view()).shards.every(
        ({ primary, in_sync: inSync }) => primary !== null && !inSync.includes(node.id),
      ),
    );
    await writes(25);
    node.wipe();
    await node.start();
    await cluster.settled();
    const { nodes } = await cluster.view();
    const back = nodes.find(({ id }) => id === node.id)!;
    expect(back.state).toBe('up');
    expect(back.primaries + back.replicas).toBeGreaterThan(0);
  });
});

test('a replica that the log can not bring back gets a copy of the records, under load', async () => {
  await underLoad('copy-a-shard', { on, shards: 1 }, async ({ cluster }) => {
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < WRITES) {
        const number = next++;
        const item = { external_id: `filler-${number}`, vector: [number, 1, 2, 3], metadata: { value: -number } };
        // On a busy machine a call may be told that it may be retried.
        await eventually(
          'a write is stored',
          async () => (await cluster.call('POST', `/v1/collections/${COLLECTION}/upsert`, item)).status === 'success',
        );
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await cluster.settled();
    const { primary: leader, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const follower = cluster.nodes.find(({ id }) => id !== leader && inSync.includes(id))!;
    await cluster.killSpared(follower);
    follower.wipe();
    const copies = (): number =>
      cluster.nodes.reduce(
        (sum, node) => sum + (node === follower ? 0 : node.output.split('copied a shard').length - 1),
        0,
      );
    const copiesBefore = copies();
    await follower.start();
    await eventually('a copy was made', () => copies() > copiesBefore);
    await cluster.settled();
    // The copy leads: everything is there.
    await cluster.leadBy(follower, COLLECTION);
    const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`);
    expect(count).toBeGreaterThanOrEqual(WRITES);
  });
});
