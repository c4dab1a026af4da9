import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { RecordStore } from '../../records/record-store';
import {
  type CheckpointFile,
  FEW_OPERATIONS,
  type Manifest,
  removeCheckpoint,
  removeOtherCheckpoints,
  writeCheckpointFile,
  writeManifest,
} from './checkpoint';
import type { ShardIndexes } from '../shard-indexes';
import type { ShardLogger } from '../shard-options';
import type { ShardCounters } from '../writing/shard-writer';
import { slowInterval } from '../removal/slow-interval';

/**
 * A checkpoint is due after this many changed items, this many bytes of their vectors, or a tenth of the shard if that
 * is more. This bounds the repairs of a start after a crash to some seconds, and the writing to a small part of the
 * load.
 */
const CHANGES_MIN = 50_000;
const CHANGED_BYTES_MIN = 256 * 1024 * 1024;
const CHANGED_SHARE = 0.1;
/** After this long, any change is in a checkpoint. */
const AGE_MAX_MS = 10 * 60_000;
/**
 * A checkpoint is due, at most once in this time, when the graph has grown by this factor, for example after a load, or
 * when so much more of it is refined: doing it again would take longer than saving it.
 */
const GRAPH_GROWTH = 1.1;
const GRAPH_AGE_MS = 60_000;
/**
 * How often the graph is looked at for that: the index has to be asked, which was most of what the looks of quiet
 * shards cost.
 */
const GRAPH_CHECK_MS = 30_000;
/** So many changes, or this share of the shard, may lie between what a backup holds of the indexes and its records. */
const KEPT_CHANGES_MIN = 5_000;
const KEPT_SHARE = 0.05;
/**
 * Of so little, the indexes are made from the records as fast as they are loaded, and a checkpoint is a dozen syncs.
 */
const FEW = { operations: FEW_OPERATIONS, rows: 64, bytes: 256 * 1024 };
/** The pause after a failed attempt, for example because of a full disk. */
const RETRY_MS = 60_000;
const CHECK_MS = 5_000;

/** Of the vector index what changes without a write. */
interface SavedGraph {
  rows: number;
  refinedRows: number;
}

/** Writes the checkpoints of one open shard: in the background when due, and on demand. */
export class Checkpointer {
  private manifest: Manifest | null;
  private changes = 0;
  /**
   * Of them, those that a shard of few had when it was opened: their repair was all that they cost, and is as cheap the
   * next time.
   */
  private readAnew = 0;
  /** What the last checkpoint has of the graph. */
  private graph: SavedGraph;
  /** Number of the newest attempt, including failed ones, so that no folder is written twice. */
  private lastNumber: number;
  private lastStartMs = performance.now();
  private notBeforeMs = 0;
  private graphLookedMs = -Infinity;
  private running: Promise<void> | null = null;
  /** While somebody looks at the checkpoint in force. */
  private holding: Promise<void> | null = null;
  /** From where the journal is kept for backups, and how many items changed since it is. */
  private kept: { operation: number; changes: number } | null = null;
  private isStopped = false;
  private readonly endChecks: () => void;
  private readonly openedAtMs: number;

  /** `repairs`: how many items of the last checkpoint had to be repaired when it was loaded; Infinity for all. */
  constructor(
    private readonly parts: {
      folder: string;
      records: RecordStore;
      indexes: ShardIndexes;
      counters: ShardCounters;
      dim: number;
      logger: ShardLogger;
      /** The clock by which items expire: what has expired by then may be in no index that was saved. */
      wallMs: () => number;
    },
    last: { manifest: Manifest | null; repairs: number },
  ) {
    this.openedAtMs = parts.wallMs();
    this.manifest = last.manifest;
    this.lastNumber = last.manifest?.number ?? 0;
    this.changes = last.repairs;
    if (last.manifest === null && last.repairs <= FEW.operations) this.readAnew = last.repairs;
    this.graph = this.graphNow();
    this.endChecks = slowInterval(CHECK_MS, () => this.writeIfDue());
  }

  /** `count` items were put or deleted. */
  noteChanges(count: number): void {
    this.changes += count;
    if (this.kept !== null) this.kept.changes += count;
  }

  /** Whether there is anything that the last checkpoint does not hold. */
  get isBehind(): boolean {
    const { rows, refinedRows } = this.graphNow();
    return this.changes > 0 || rows !== this.graph.rows || refinedRows !== this.graph.refinedRows;
  }

  /**
   * How far the last checkpoint is behind, for operators. `atMs`: its wall time; if there was none, when the shard was
   * opened.
   */
  get state(): { atMs: number; unsavedChanges: number } {
    const unsavedChanges = Math.min(
      this.changes,
      Math.max(this.parts.indexes.directory.liveCount, this.parts.counters.lastOperation),
    );
    return { atMs: this.manifest?.writtenAtMs ?? this.openedAtMs, unsavedChanges };
  }

  /**
   * Writes the present state of the indexes, so that a later start does not have to repeat the operations before it.
   * Errors: unavailable once it is stopped, because the folder may be gone then.
   */
  write(): Promise<void> {
    if (this.isStopped) return Promise.reject(new QuiverError('unavailable', 'the shard is being closed'));
    if (this.holding !== null) return this.holding.then(() => this.write());
    this.running ??= this.attempt().finally(() => (this.running = null));
    return this.running;
  }

  /** The same, but begun after the call: what changed before it is in no file of an earlier one. */
  async writeAnew(): Promise<void> {
    await this.running?.catch(() => undefined);
    return this.write();
  }

  /**
   * Runs `look` with the manifest of the checkpoint in force, while no other takes its place and the journal stays;
   * those that are due wait. It must not take long.
   */
  async hold<Result>(look: (manifest: Manifest | null) => Promise<Result>): Promise<Result> {
    let release!: () => void;
    while (this.holding !== null) await this.holding;
    this.holding = new Promise<void>((done) => (release = done));
    try {
      await this.running?.catch(() => undefined);
      return await look(this.manifest);
    } finally {
      this.holding = null;
      release();
    }
  }

  /**
   * Keeps the journal from this operation on beyond the next checkpoints, as long as few items change: what a backup
   * holds of the indexes is then good for the next one, too.
   */
  keepJournal(operation: number): void {
    this.kept = { operation, changes: 0 };
  }

  /** Starts no more checkpoints, and waits for the running one. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.endChecks();
    await this.holding;
    await this.running?.catch(() => undefined);
  }

  /** The closing checkpoint, once it is stopped. */
  writeLast(): Promise<void> {
    return this.attempt();
  }

  /**
   * Where the shard closes until somebody uses it, once it is stopped: with a checkpoint, unless there never was one
   * and the next opening does as well without. Then all changes are on stable storage at least.
   */
  async settle(): Promise<void> {
    const { records, indexes, counters } = this.parts;
    const { rows } = indexes.vectors.status().progress;
    const isFew =
      this.manifest === null &&
      counters.lastOperation <= FEW.operations &&
      rows <= FEW.rows &&
      (await records.sizeBytes()) <= FEW.bytes;
    if (!isFew) return this.attempt();
    if (!records.isOnlyRead) await records.stabilise(counters.lastOperation);
    this.changes = 0;
    this.readAnew = 0;
    this.graph = this.graphNow();
  }

  private writeIfDue(): void {
    const nowMs = performance.now();
    if (this.running !== null || this.holding !== null || nowMs < this.notBeforeMs || !this.isDue(nowMs)) return;
    this.write().catch((error: unknown) => {
      this.notBeforeMs = performance.now() + RETRY_MS;
      this.parts.logger.error({ error, folder: this.parts.folder }, 'a checkpoint failed; the last one stays in force');
    });
  }

  private isDue(nowMs: number): boolean {
    const { indexes, dim } = this.parts;
    const ageMs = nowMs - this.lastStartMs;
    const countMin = Math.min(CHANGES_MIN, Math.ceil(CHANGED_BYTES_MIN / (dim * Float32Array.BYTES_PER_ELEMENT)));
    if (this.changes >= Math.max(countMin, indexes.directory.liveCount * CHANGED_SHARE)) return true;
    if (this.changes > this.readAnew && ageMs > AGE_MAX_MS) return true;
    if (ageMs <= GRAPH_AGE_MS || nowMs - this.graphLookedMs < GRAPH_CHECK_MS) return false;
    this.graphLookedMs = nowMs;
    const { rows, refinedRows, isReady } = this.graphNow();
    // Refining takes longer than adding. It is saved when all of it is done: until then a start repeats it.
    return rows > this.graph.rows * GRAPH_GROWTH || (isReady && refinedRows > this.graph.refinedRows * GRAPH_GROWTH);
  }

  private graphNow(): SavedGraph & { isReady: boolean } {
    const { segments, progress } = this.parts.indexes.vectors.status();
    const rows = segments.reduce((sum, { kind, rows: own }) => sum + (kind === 'sealed' ? own : 0), 0);
    return { rows, refinedRows: progress.refinedRows, isReady: progress.state === 'ready' };
  }

  private async attempt(): Promise<void> {
    const { folder, indexes, counters, records } = this.parts;
    const number = ++this.lastNumber;
    // The checkpoint covers every operation up to here; slots changed later are repaired from the journal at the next
    // start.
    const { lastOperation, lastRecno } = counters;
    const graph = this.graphNow();
    const covered = this.changes;
    this.changes = 0;
    this.readAnew = 0;
    this.lastStartMs = performance.now();
    try {
      const write = (name: CheckpointFile, chunks: Iterable<Buffer>) =>
        writeCheckpointFile(folder, number, name, chunks);
      const files = {
        directory: await write('directory', indexes.directory.save()),
        filters: await write('filters', indexes.filters.save()),
        keywords: await write('keywords', indexes.keywords.save()),
      };
      const vectors = await indexes.vectors.save();
      // A checkpoint that survives a loss of power must not be ahead of the records. A log would then repeat what the
      // indexes hold already, in other slots and under the same operation numbers.
      await records.stabilise(counters.lastOperation);
      const manifest: Manifest = {
        operation: lastOperation,
        lastRecno,
        number,
        files,
        vectors,
        writtenAtMs: this.parts.wallMs(),
      };
      await writeManifest(folder, manifest);
      this.manifest = manifest;
      this.graph = graph;
    } catch (error) {
      this.changes += covered;
      // On a full disk, the written part takes the space that everything else needs.
      const inForce = await removeCheckpoint(folder, number).catch(() => undefined);
      if (inForce?.number === number) this.manifest = inForce;
      // So do saves of the vectors, also those of an index that could not save all of its segments. Where nobody can
      // tell which manifest there is, they stay for the next checkpoint.
      else if (inForce !== undefined)
        await indexes.vectors.discardOtherSaves(this.manifest?.vectors ?? '').catch(() => undefined);
      throw error;
    }
    await removeOtherCheckpoints(folder, number);
    await indexes.vectors.discardOtherSaves(this.manifest.vectors);
    if (this.kept !== null && this.kept.changes > Math.max(KEPT_CHANGES_MIN, indexes.directory.liveCount * KEPT_SHARE))
      this.kept = null;
    await records.trimJournal(Math.min(lastOperation, this.kept?.operation ?? lastOperation));
  }
}
