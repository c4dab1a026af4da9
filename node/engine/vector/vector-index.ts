import type { IndexProgress, SearchEffort, SegmentStatus } from '../../../shared/contract/shard/shard-read';
import type { Quantization } from '../../../shared/contract/vector/quantization';
import type { SlotScores } from '../slots/slot-scores';
import type { SlotSet } from '../slots/slot-set';

/**
 * The vectors of one shard, searchable by similarity under the shard's metric. Slots are dense 32-bit numbers that the
 * shard assigns and reuses; the index may use any numbering inside.
 *
 * Implementations: the native one over FAISS's graph (`native-vector-index.ts`) and a plain scan in TypeScript
 * (a plain model of the tests, which they compare it with). Both pass test/contract/vector-index.
 *
 * Ownership and concurrency: arguments are copied before a call returns, or the caller does not change them until its
 * promise settles (typed arrays given to `search` and `score` must not change meanwhile). put and remove are
 * synchronous, never overlap each other (one JavaScript thread), and may run while searches, maintenance or a save are
 * under way. A search sees every put and remove that returned before it was called, and may see later ones. Errors:
 * internal for a wrong length, a slot out of range or use after close; storage_failed for a failing disk (then nothing
 * of that put is visible).
 */
export interface VectorIndex {
  /**
   * Sets the vector of each slot (a new one, or in place of the slot's earlier one). `vectors` is row-major,
   * slots.length × dim.
   */
  put(slots: Uint32Array, vectors: Float32Array): void;
  /** Removes the slots from every later answer; unknown slots are ignored. */
  remove(slots: Uint32Array): void;
  /**
   * The best min(k, candidates) slots by score, best first. Candidates are the live slots, or those of `allowed` that
   * are live. All candidates that tie with the last one are appended, however many there are, so that the caller can
   * break ties by its own order. Scores are the exact metric (shared/contract/vector/metric.ts) in float32 arithmetic.
   * A `calibrated` search promises the recall target; with few candidates, or where many tie, the answer is exact.
   * `counted`: the answer says what it took.
   */
  search(query: Float32Array, options: IndexSearch): Promise<SlotScores>;
  /**
   * Exact scores of the given slots, in their order, of the vectors that they have at the call; NaN for a slot that is
   * not live then.
   */
  score(query: Float32Array, slots: Uint32Array): Promise<Float64Array>;
  /** The same on the calling thread. */
  scoreNow(query: Float32Array, slots: Uint32Array): Float64Array;
  /**
   * The vectors exactly as they were put, row-major in the order of `slots`. Errors: internal for a slot that is not
   * live.
   */
  vectors(slots: Uint32Array): Float32Array;
  /**
   * A number by which other threads of this process search the index (searchSharedVectors) until it closes; the same at
   * each call. null: they can't.
   */
  share(): number | null;
  /** Number of live slots. */
  readonly liveCount: number;
  status(): VectorIndexStatus;
  /**
   * Begins, or goes on, to make the best of the present rows in the background: all in the graph and refined, dead ones
   * removed, the effort measured again. `status` shows the progress.
   */
  optimize(): void;
  /**
   * Resolves when the rows that are dead at the call are gone from the present state; what was saved before may still
   * hold them. Errors: storage_failed; internal when it closes.
   */
  purge(): Promise<void>;
  /** Resolves when no background work (building, refinement, compaction, calibration) is running or due. */
  settled(): Promise<void>;
  /**
   * Writes the present state into the index's folder under a new name and returns that name; the files are on stable
   * storage when it resolves. Slots changed after the call began may be saved in their earlier or later state; the
   * caller repairs those after opening (remove, then put). Earlier saves stay until `discardOtherSaves`.
   */
  save(): Promise<string>;
  /** Deletes every saved state except `name`. */
  discardOtherSaves(name: string): Promise<void>;
  /** Stops background work at the next safe point, fails running calls, frees native memory; idempotent. */
  close(): Promise<void>;
}

export interface IndexSearch {
  k: number;
  effort: SearchEffort;
  allowed: SlotSet | null;
  counted?: boolean | undefined;
}

/** How an index is made: empty, or from a save. */
export interface VectorIndexOptions {
  /** Folder that belongs to this index alone; made if missing. Unknown files in it may be deleted. */
  folder: string;
  dim: number;
  metric: import('../../../shared/contract/vector/metric').Metric;
  /**
   * How vectors are held in memory; default: DEFAULT_QUANTIZATION. No answer depends on it but for its recall, which is
   * promised.
   */
  quantization?: Quantization | undefined;
  /** Promised recall of calibrated searches, 0 < target < 1. */
  recallTarget: number;
  /** Native threads that build graphs. */
  buildThreads: number;
  /** Live rows from which there is a graph; default: where a walk becomes quicker than a scan (maintenance.ts). */
  graphRowsMin?: number;
  /** Rows of a segment of an index on the disk; default: as many as have SEGMENT_BYTES (disk-vector-index.ts). */
  segmentRows?: number;
  /** Where codes are, by which vectors are searched; default: in memory. */
  place?: import('../../../shared/contract/vector/vector-storage').VectorStorage | undefined;
  /** Called when background work fails. The index continues without it; searches stay correct but become slower. */
  onBackgroundError: (error: Error) => void;
  /**
   * Called when the vectors on the disk turn out to be damaged. The call that found it fails with `storage_failed`, and
   * others may fail, too; the index has to be closed and made again. May be called several times.
   */
  onDamaged: (error: Error) => void;
}

export interface VectorIndexStatus {
  segments: SegmentStatus[];
  /** Bytes of memory for codes, graph and tables, without mapped originals. */
  memoryBytes: number;
  diskBytes: number;
  progress: IndexProgress;
}
