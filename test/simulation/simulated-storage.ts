import type { WriteResult } from '../../shared/contract/shard/shard-client';
import { SEED_SEQUENCE } from '../../node/engine/records/seed-position';
import type { LogPosition } from '../../node/replication/core/messages';
import type { AppliedEntry, LogEntry, ReplicaState } from '../../node/replication/core/replica-state';
import type { Chance } from './chance';
import { writtenBy } from './written';

export interface StorageChange {
  token: number;
  truncateAfter?: number;
  entries?: LogEntry[];
  promisedEpoch?: number;
  lastLedEpoch?: number;
}

interface Disk {
  store: string;
  /** All entries from the first on; those below `firstSequence` are in the records only. */
  entries: LogEntry[];
  firstSequence: number;
  promisedEpoch: number;
  lastLedEpoch: number;
  applied: number;
}

function emptyDisk(store: string): Disk {
  return { store, entries: [], firstSequence: 1, promisedEpoch: 0, lastLedEpoch: 0, applied: 0 };
}

/** What a replica's applied entries make of it, in their order. */
export interface StateMachine {
  /** As nothing was applied yet. */
  reset(): void;
  apply(payload: Buffer): WriteResult;
}

/** What became of every write of a register. */
const UPDATED: WriteResult = { outcomes: ['updated'], firstVersion: 0, present: [] };

/** A value for each key. */
export class Registers implements StateMachine {
  readonly values = new Map<string, number>();

  reset(): void {
    this.values.clear();
  }

  apply(payload: Buffer): WriteResult {
    const { key, value } = writtenBy(payload);
    this.values.set(key, value);
    return UPDATED;
  }
}

/**
 * One replica's disk. Appends reach it in order and late; at a crash some of those under way are there and the rest are
 * not. Records and the applied position move together and, not being synced themselves, may fall back at a crash to
 * where they were at the last sync.
 */
export class SimulatedStorage<Machine extends StateMachine = StateMachine> {
  /** As a reader in the process sees it. */
  entries: LogEntry[] = [];
  disk: Disk;
  /** Applied as the process sees it. */
  applied = 0;
  /** How often the whole content was replaced. */
  installed = 0;
  readonly machine: Machine;
  /** By the place in the log: what became of the writes that were applied. */
  private readonly results: AppliedEntry['result'][] = [];
  private settledBelow = new Map<string, number>();
  private underway: StorageChange[] = [];
  private stores = 0;
  private readonly chance: Chance;
  private readonly node: string;

  constructor(options: { node: string; chance: Chance; machine: Machine }) {
    this.node = options.node;
    this.machine = options.machine;
    this.chance = options.chance;
    this.disk = emptyDisk(`${options.node}.0`);
  }

  get store(): string {
    return this.disk.store;
  }

  get firstSequence(): number {
    return this.disk.firstSequence;
  }

  append(change: StorageChange): void {
    applyChange(this.entries, change);
    this.underway.push(change);
  }

  /** The oldest change under way gets onto the disk. */
  finishAppend(): StorageChange {
    const change = this.underway.shift()!;
    this.persist(change);
    this.disk.applied = Math.min(this.applied, this.disk.entries.length);
    return change;
  }

  apply(upTo: number): AppliedEntry[] {
    const results: AppliedEntry[] = [];
    for (let sequence = this.applied + 1; sequence <= upTo; sequence++) {
      const result = this.applyOne(this.entries[sequence - 1]);
      this.results[sequence - 1] = result;
      results.push({ sequence, result });
    }
    this.applied = upTo;
    return results;
  }

  trim(firstSequence: number): number {
    this.disk.firstSequence = Math.max(
      this.disk.firstSequence,
      Math.min(firstSequence, this.applied + 1, this.disk.entries.length + 1),
    );
    return this.disk.firstSequence;
  }

  crash(): void {
    const kept = this.chance.below(this.underway.length + 1);
    for (const change of this.underway.slice(0, kept)) this.persist(change);
    const applied = Math.min(this.applied, this.disk.entries.length);
    this.disk.applied = Math.max(
      this.disk.firstSequence - 1,
      this.disk.applied + this.chance.below(Math.max(0, applied - this.disk.applied) + 1),
    );
    this.open();
  }

  /** The data folder is lost; a new one has another store id. */
  wipe(): void {
    this.disk = emptyDisk(`${this.node}.${++this.stores}`);
    this.open();
  }

  /** The shard's data was removed because the replica was taken away; the folder keeps its id. */
  remove(): void {
    this.disk = emptyDisk(this.disk.store);
    this.open();
  }

  /** What is on it now. */
  keep(): Readonly<Disk> {
    return { ...this.disk, entries: [...this.disk.entries] };
  }

  /** It is as it was when that was kept. */
  putBack(kept: Readonly<Disk>): void {
    this.disk = { ...kept, entries: [...kept.entries] };
    this.open();
  }

  /** What it begins with, in the place of an entry that nobody has; see node/engine/records/seed-position.ts. */
  seed(payload: Buffer): void {
    const entry: LogEntry = {
      sequence: SEED_SEQUENCE,
      epoch: 0,
      write: { source: { session: '', requestNumber: 0, settledBelow: 0 }, payload },
    };
    this.disk = { ...this.disk, entries: [entry], firstSequence: SEED_SEQUENCE + 1, applied: SEED_SEQUENCE };
    this.open();
  }

  /** What a snapshot holds. */
  copyApplied(): LogEntry[] {
    return this.entries.slice(0, this.applied);
  }

  install(entries: LogEntry[]): void {
    this.disk.entries = [...entries];
    this.disk.firstSequence = entries.length + 1;
    this.disk.applied = entries.length;
    this.open();
  }

  state(): ReplicaState {
    const { disk } = this;
    const epochStarts: { epoch: number; sequence: number }[] = [];
    for (const entry of disk.entries.slice(disk.firstSequence - 1)) {
      if (epochStarts.at(-1)?.epoch !== entry.epoch) epochStarts.push({ epoch: entry.epoch, sequence: entry.sequence });
    }
    const settledBelow = new Map<string, number>();
    const settled = disk.entries.slice(0, disk.applied).flatMap((entry) => {
      if (!isDue(entry, settledBelow)) return [];
      const { session, requestNumber } = entry.write!.source;
      return [{ session, requestNumber, sequence: entry.sequence, result: this.results[entry.sequence - 1]! }];
    });
    return {
      promisedEpoch: disk.promisedEpoch,
      lastLedEpoch: disk.lastLedEpoch,
      firstSequence: disk.firstSequence,
      lastSequence: disk.entries.length,
      precedingEpoch: disk.entries[disk.firstSequence - 2]?.epoch ?? 0,
      epochStarts,
      appliedSequence: disk.applied,
      settled,
      latestTimeMs: disk.entries.reduce((latest, { write }) => Math.max(latest, write?.at ?? 0), 0),
    };
  }

  private open(): void {
    this.installed++;
    this.underway = [];
    this.entries = [...this.disk.entries];
    this.machine.reset();
    this.results.length = 0;
    this.settledBelow = new Map();
    this.applied = 0;
    this.apply(this.disk.applied);
  }

  private persist(change: StorageChange): void {
    applyChange(this.disk.entries, change);
    this.disk.promisedEpoch = Math.max(this.disk.promisedEpoch, change.promisedEpoch ?? 0);
    this.disk.lastLedEpoch = Math.max(this.disk.lastLedEpoch, change.lastLedEpoch ?? 0);
  }

  private applyOne(entry: LogEntry): AppliedEntry['result'] {
    return isDue(entry, this.settledBelow) ? this.machine.apply(entry.write!.payload) : null;
  }
}

/** Where a log ends. */
export function lastOf(entries: LogEntry[]): LogPosition {
  return { epoch: entries.at(-1)?.epoch ?? 0, sequence: entries.length };
}

/** Whether an entry is a write that its session had not given up by then; to be called in the log's order. */
export function isDue(entry: LogEntry, settledBelow: Map<string, number>): boolean {
  if (entry.write === null) return false;
  const { source } = entry.write;
  const below = settledBelow.get(source.session) ?? 0;
  if (source.requestNumber < below) return false;
  settledBelow.set(source.session, Math.max(below, source.settledBelow));
  return true;
}

function applyChange(entries: LogEntry[], change: StorageChange): void {
  if (change.truncateAfter !== undefined) entries.length = Math.min(entries.length, change.truncateAfter);
  for (const entry of change.entries ?? []) entries.push(entry);
}
