import { writeSync } from 'node:fs';
import { seededRandom } from '../values/random';
import { CRASH_SPEC, entryAt } from './replica-crash-workload';
import { StoredReplica } from '../shards/stored-replica';

/**
 * The process that is killed: `replica-crash-writer.ts <folder> <seed>`. Goes on with the log that it finds: appends,
 * applies, takes unapplied entries back, writes checkpoints, all at once. Says what is stored and applied when it is,
 * and what it is going to take back before it does. It never ends by itself.
 */
async function main(): Promise<void> {
  const [folder, seedText] = process.argv.slice(2);
  const seed = Number(seedText);
  const replica = await new StoredReplica(folder, CRASH_SPEC).open();
  const { storage, shard } = replica;
  const { state } = storage;
  if (state.lossy !== undefined) throw new Error(state.lossy);
  const random = seededRandom(seed + state.lastSequence);
  let epoch = state.promisedEpoch + 1;
  await storage.append({ promisedEpoch: epoch });
  say('open');
  let last = state.lastSequence;
  let applying: Promise<unknown> | null = null;
  let saving: Promise<void> | null = null;
  for (;;) {
    const appends: Promise<void>[] = [];
    for (let width = 1 + Math.floor(random() * 6); width > 0; width--) {
      const entries = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
        entryAt(seed, { epoch, sequence: ++last }),
      );
      const { sequence } = entries[entries.length - 1];
      const at = epoch;
      appends.push(storage.append({ entries }).then(() => say(`stored ${sequence} ${at}`)));
    }
    if (applying === null && random() < 0.7) {
      const upTo = state.appliedSequence + Math.floor(random() * (state.lastSequence - state.appliedSequence + 1));
      applying = storage.apply(upTo).then(() => {
        applying = null;
      });
    }
    if (saving === null && random() < 0.1) saving = shard.checkpoint().then(() => void (saving = null));
    await Promise.all(appends);
    if (random() < 0.1) {
      await applying;
      last = state.appliedSequence + Math.floor(random() * (state.lastSequence - state.appliedSequence + 1));
      epoch += 1;
      say(`cut ${last}`);
      await storage.append({ truncateAfter: last, promisedEpoch: epoch });
    }
  }
}

/** Synchronous, so that what was said is with the reader when the process is killed. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
