import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CRASH_SPEC, entryAt } from '../support/processes/replica-crash-workload';
import { runSeed, seededRandom } from '../support/values/random';
import { replay } from '../support/shards/replayed-log';
import { StoredReplica } from '../support/shards/stored-replica';

const CYCLES = Number(process.env.CYCLES ?? 5);

/** What must be there after a crash: the last entry that was stored for sure, and its epoch where it is known. */
interface Promised {
  sequence: number;
  epoch: number | null;
}

/** Runs a writer on the folder and kills it. */
async function writeUntilKilled(
  folder: string,
  seed: number,
  before: Promised,
  random: () => number,
): Promise<Promised> {
  let promised = before;
  let output = '';
  let errors = '';
  let count = 0;
  const enough = 1 + Math.floor(random() * 200);
  const child = spawn(process.execPath, [
    '-r',
    resolve(__dirname, '../support/swc-register.js'),
    resolve(__dirname, '../support/processes/replica-crash-writer.ts'),
    folder,
    String(seed),
  ]);
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    const lines = output.split('\n');
    output = lines.pop() as string;
    for (const line of lines) {
      const [what, sequence, epoch] = line.split(' ');
      if (what === 'stored') promised = { sequence: Number(sequence), epoch: Number(epoch) };
      if (what === 'cut' && Number(sequence) < promised.sequence)
        promised = { sequence: Number(sequence), epoch: null };
      if (++count === enough) setTimeout(() => child.kill('SIGKILL'), random() * 15);
    }
  });
  const signal = await new Promise((done) => child.once('close', (_code, endedBy) => done(endedBy)));
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself: ${errors}`);
  return promised;
}

test('a replica killed at any moment keeps every stored entry, and records that are those of the entries applied', async () => {
  const seed = runSeed('replica crash');
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-replica-crash-'));
  let promised: Promised = { sequence: 0, epoch: null };
  let unapplied = 0;
  try {
    // Nearly every kill meets entries that are not applied yet: without one, the test has not seen what it is about.
    for (let cycle = 0; cycle < CYCLES || unapplied === 0; cycle++) {
      promised = await writeUntilKilled(folder, seed, promised, random);
      const replica = await new StoredReplica(folder, CRASH_SPEC).open();
      const { storage } = replica;
      const { state } = storage;
      expect(state.lossy).toBeUndefined();
      expect(state.lastSequence).toBeGreaterThanOrEqual(promised.sequence);
      const entries = await StoredReplica.entries(storage, 1);
      expect(entries.length).toBe(state.lastSequence);
      if (promised.epoch !== null) expect(entries[promised.sequence - 1].epoch).toBe(promised.epoch);
      for (const entry of entries) expect(entry).toEqual(entryAt(seed, entry));
      const applied = await replay(CRASH_SPEC, entries.slice(0, state.appliedSequence));
      expect(await replica.items()).toEqual(applied.items);
      expect([...state.settled].sort((a, b) => a.sequence - b.sequence)).toEqual(
        applied.settled.sort((a, b) => a.sequence - b.sequence),
      );
      // The rest is applied as if nothing had happened.
      unapplied += state.lastSequence - state.appliedSequence;
      const from = state.appliedSequence;
      const upTo = random() < 0.5 ? state.lastSequence : from;
      const results = await storage.apply(upTo);
      const whole = await replay(CRASH_SPEC, entries.slice(0, upTo));
      expect(results).toEqual(whole.results.slice(from, upTo));
      expect(await replica.items()).toEqual(whole.items);
      expect(replica.log.messages('warn')).toEqual([]);
      promised = { sequence: state.lastSequence, epoch: entries[entries.length - 1]?.epoch ?? null };
      await replica.close(random() < 0.5 ? 'stopped' : 'crashed');
    }
    console.log(`${promised.sequence} entries, ${unapplied} found unapplied`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
