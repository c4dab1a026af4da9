import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EpochStart, LogEntry } from '../../node/replication/core/replica-state';
import { digestOf } from '../../node/replication/replica-digest';
import type { WriteOperation } from '../../shared/contract/shard/shard-client';
import { PowerLossStore } from '../support/shards/power-loss-store';
import { runSeed, seededRandom } from '../support/values/random';
import { replay } from '../support/shards/replayed-log';
import { StoredReplica, writeEntry } from '../support/shards/stored-replica';

/** Random lives of a replica's storage, against a log in an array and records that are made again from it. */

const RUNS = Number(process.env.RUNS ?? 8);
const STEPS = 60;
const SPEC = { collectionUid: 'c', shard: 0, dim: 4, metric: 'l2' } as const;

function epochStartsOf(entries: LogEntry[]): EpochStart[] {
  return entries.flatMap(({ epoch, sequence }, i) =>
    i === 0 || entries[i - 1].epoch !== epoch ? [{ epoch, sequence }] : [],
  );
}

/** A running storage knows where its first epoch began, even if that entry is trimmed away. */
function clipped(starts: EpochStart[], firstSequence: number): EpochStart[] {
  return starts.map(({ epoch, sequence }) => ({ epoch, sequence: Math.max(sequence, firstSequence) }));
}

/** One life: what the storage was told, and what it has to answer by that. */
class Life {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-replica-'));
  private readonly disk = new PowerLossStore();
  private readonly replica = new StoredReplica(this.folder, SPEC, { openStore: async () => this.disk });
  /** Every entry ever, trimmed ones too. */
  private entries: LogEntry[] = [];
  private epoch = 1;
  private promisedEpoch = 0;
  private lastLedEpoch = 0;
  private stamp = 0;
  private readonly requests: Record<string, number> = { a: 0, b: 0 };

  constructor(
    private readonly random: () => number,
    private readonly trace: (step: string) => void,
  ) {}

  async live(): Promise<void> {
    try {
      await this.replica.open();
      for (let i = 0; i < STEPS; i++) await this.step();
      await this.restart('stopped');
      await this.compareDigest();
      await this.replica.close();
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  private async step(): Promise<void> {
    const { storage, shard } = this.replica;
    const { appliedSequence, lastSequence } = storage.state;
    const dice = this.random();
    if (dice < 0.4) {
      const calls = [
        () => this.append(),
        () => this.append(),
        () => this.applyTo(this.between(appliedSequence, lastSequence)),
        () => storage.trim(this.below(lastSequence + 2)),
      ];
      await Promise.all(calls.slice(0, 1 + this.below(4)).map((call) => call()));
    } else if (dice < 0.5) {
      await this.truncate();
    } else if (dice < 0.72) {
      await this.applyTo(this.between(appliedSequence, lastSequence));
    } else if (dice < 0.8) {
      const below = this.below(lastSequence + 2);
      this.trace(`trim ${below}`);
      await storage.trim(below);
      expect(storage.state.firstSequence).toBeLessThanOrEqual(storage.state.appliedSequence + 1);
    } else if (dice < 0.86) {
      this.trace('checkpoint');
      await shard.checkpoint();
    } else if (dice < 0.9) {
      await this.restart('stopped');
    } else {
      await this.restart('crashed', dice < 0.95 ? 1 : this.random());
    }
  }

  private append(): Promise<void> {
    if (this.random() < 0.2) this.epoch += 1;
    const added = Array.from({ length: this.below(5) }, (_, i) => this.entry(this.entries.length + 1 + i));
    this.entries.push(...added);
    const change = { entries: added, ...this.promises() };
    this.trace(`append ${added.map(({ sequence, epoch }) => `${sequence}@${epoch}`).join(' ')}`);
    return this.replica.storage.append(change);
  }

  private truncate(): Promise<void> {
    const { appliedSequence, lastSequence } = this.replica.storage.state;
    const truncateAfter = this.between(appliedSequence, lastSequence);
    this.entries.length = truncateAfter;
    this.epoch += 1;
    const added = Array.from({ length: this.below(3) }, (_, i) => this.entry(truncateAfter + 1 + i));
    this.entries.push(...added);
    this.trace(`truncate ${truncateAfter}, then ${added.length}`);
    return this.replica.storage.append({ truncateAfter, entries: added, ...this.promises() });
  }

  private promises(): { promisedEpoch?: number; lastLedEpoch?: number } {
    if (this.random() < 0.7) return {};
    this.promisedEpoch = Math.max(this.promisedEpoch, this.epoch);
    if (this.random() < 0.5) return { promisedEpoch: this.epoch };
    this.lastLedEpoch = Math.max(this.lastLedEpoch, this.epoch);
    return { promisedEpoch: this.epoch, lastLedEpoch: this.epoch };
  }

  private async applyTo(sequence: number): Promise<void> {
    const { storage } = this.replica;
    const before = storage.state.appliedSequence;
    this.trace(`apply ${sequence}`);
    const results = await storage.apply(sequence);
    const expected = await replay(SPEC, this.entries.slice(0, sequence));
    expect(results).toEqual(expected.results.slice(before, sequence));
  }

  /** Stops or dies and comes back; of what was not synced, a share is still there. */
  private async restart(how: 'stopped' | 'crashed', share = 1): Promise<void> {
    this.trace(`${how}, ${share} of what was not synced is left`);
    const before = { ...this.replica.storage.state };
    expect(clipped(before.epochStarts, before.firstSequence)).toEqual(
      epochStartsOf(this.entries.slice(before.firstSequence - 1)),
    );
    await this.replica.close(how);
    await this.disk.losePower(share);
    await this.replica.open();
    const { state } = this.replica.storage;
    expect(state.lossy).toBeUndefined();
    expect(state).toMatchObject({
      promisedEpoch: this.promisedEpoch,
      lastLedEpoch: this.lastLedEpoch,
      lastSequence: this.entries.length,
    });
    expect(state.firstSequence).toBeLessThanOrEqual(before.firstSequence);
    expect(state.appliedSequence).toBeLessThanOrEqual(before.appliedSequence);
    if (share === 1)
      expect(state).toMatchObject({ firstSequence: before.firstSequence, appliedSequence: before.appliedSequence });
    const held = this.entries.slice(state.firstSequence - 1);
    expect(state.epochStarts).toEqual(epochStartsOf(held));
    expect(state.precedingEpoch).toBe(this.entries[state.firstSequence - 2]?.epoch ?? 0);
    const maxBytes = 1 + this.below(2000);
    expect(await StoredReplica.entries(this.replica.storage, state.firstSequence, maxBytes)).toEqual(held);
    const expected = await replay(SPEC, this.entries.slice(0, state.appliedSequence));
    expect(state.settled).toEqual(expect.arrayContaining(expected.settled));
    expect(state.settled).toHaveLength(expected.settled.length);
    expect(await this.replica.items()).toEqual(expected.items);
    // Nothing had to be thrown away: checkpoints are never ahead of the records.
    expect(this.replica.log.messages('warn')).toEqual([]);
    expect(this.replica.log.messages('error')).toEqual([]);
  }

  /** Another replica that applies the same entries one by one holds the same. */
  private async compareDigest(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-replica-'));
    const { appliedSequence } = this.replica.storage.state;
    try {
      const disk = new PowerLossStore();
      const other = await new StoredReplica(folder, SPEC, { openStore: async () => disk }).open();
      await other.storage.append({ entries: this.entries.slice(0, appliedSequence) });
      for (let sequence = 1; sequence <= appliedSequence; sequence++) await other.storage.apply(sequence);
      expect(await digestOf(this.replica.store)).toEqual(await digestOf(other.store));
      await other.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  private entry(sequence: number): LogEntry {
    const position = { epoch: this.epoch, sequence };
    if (this.random() < 0.15) return { ...position, write: null };
    const session = this.random() < 0.5 ? 'a' : 'b';
    const isRepeat = this.random() < 0.25;
    if (!isRepeat) this.requests[session] += 1;
    const latest = this.requests[session];
    const requestNumber = isRepeat ? Math.max(1, latest - this.below(6)) : latest;
    const operations = Array.from({ length: 1 + this.below(4) }, () => this.operation());
    // A session never says that a write is settled which it is sending.
    const settledBelow = Math.max(0, Math.min(requestNumber, latest - 1 - this.below(8)));
    return writeEntry(position, operations, { session, requestNumber, settledBelow });
  }

  private operation(): WriteOperation {
    const externalId = `id${this.below(25)}`;
    if (this.random() < 0.3) return { type: 'delete', externalId };
    this.stamp += 1;
    return {
      type: 'upsert',
      externalId,
      vector: Float32Array.from({ length: SPEC.dim }, () => this.random()),
      stamp: this.stamp,
      metadata: this.random() < 0.5 ? undefined : JSON.stringify({ n: this.below(9) }),
      text: this.random() < 0.5 ? undefined : `text ${this.below(9)}`,
    };
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }
}

test(`a replica's log and records are what it was told, through truncations, trims, crashes and losses of power`, async () => {
  const seed = runSeed('replica storage');
  for (let run = 0; run < RUNS; run++) {
    const trace: string[] = [];
    try {
      await new Life(seededRandom(seed + run), (step) => trace.push(step)).live();
    } catch (error) {
      console.log(`run ${run} of SEED=${seed}:\n${trace.join('\n')}`);
      throw error;
    }
  }
});
