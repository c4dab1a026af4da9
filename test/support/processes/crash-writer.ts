import { writeSync } from 'node:fs';
import { SHARD, WORKLOAD, batchOf } from './crash-workload';
import { seededRandom } from '../values/random';
import { NO_HURRY, ShardNode, nativeFactories, openRocksStore } from '../shards/shard-node';

/**
 * The process that is killed: `crash-writer.ts <folder> <seed> <batches written by each writer, as a JSON array>`.
 * Opens the shard, says "open", writes, says "<writer> <number>" for every batch acknowledged, and checkpoints all the
 * time. It never ends by itself.
 */
async function main(): Promise<void> {
  const [folder, seed, starts] = process.argv.slice(2);
  const node = await new ShardNode({ factories: nativeFactories, openStore: openRocksStore, folder }).start();
  say('opening');
  await node.client.make(SHARD);
  say('open');
  const writers = Array.from({ length: WORKLOAD.writers }, async (_, writer) => {
    for (let number = (JSON.parse(starts) as number[])[writer] + 1; ; number++) {
      await node.client.write(SHARD, batchOf(Number(seed), writer, number), NO_HURRY);
      say(`${writer} ${number}`);
    }
  });
  const random = seededRandom(Number(seed) + 1);
  const checkpoints = (async () => {
    for (;;) {
      await (await node.host.shard(SHARD)).checkpoint();
      await new Promise((wake) => setTimeout(wake, random() * 20));
    }
  })();
  await Promise.all([...writers, checkpoints]);
}

/** Synchronous, so that what was said is with the reader when the process is killed. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
