import { createRequire } from 'node:module';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { addonFile } from '../../../shared/base/process/addon-file';
import type { Metric } from '../../../shared/contract/vector/metric';
import type { Quantization } from '../../../shared/contract/vector/quantization';
import type { SearchEffort } from '../../../shared/contract/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import type { AddonFilterIndex } from './native-filters';

/**
 * The vector index of the addon (node/engine/native/addon.cc): the same names, argument order and meaning. Failures are
 * Errors with `code` CLOSED, STORAGE_FAILED, INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL, thrown or as rejections. Only
 * one of `extend`, `sketch`, `refine`, `calibrate`, `makeCells`, `compact` and `seal` may run at a time, and they do
 * not keep the process alive; everything else may overlap.
 */
export interface AddonVectorIndex {
  /** Appends rows; synchronous, written to the originals file but not synced. */
  put(slots: Uint32Array, vectors: Float32Array): void;
  remove(slots: Uint32Array): void;
  /**
   * `effort`: 0 calibrated, 1 `ef`, 2 exact. `allowed`: 0 all (words null), 1 `words` lists the slots, 2 `words` is a
   * bitmap; `allowedCount`: the number of allowed slots. The arrays are copied before the call returns. `counted`: the
   * answer says what it took.
   */
  search(
    query: Float32Array,
    k: number,
    effort: number,
    ef: number,
    allowed: number,
    words: Uint32Array | null,
    allowedCount: number,
    counted?: true,
  ): Promise<SlotScores>;
  /** Whether a search over this many allowed slots will scan them. If so, pass them as a list. */
  prefersScan(k: number, effort: number, ef: number, allowedCount: number): boolean;
  score(query: Float32Array, slots: Uint32Array): Promise<Float64Array>;
  scoreNow(query: Float32Array, slots: Uint32Array): Float64Array;
  vectors(slots: Uint32Array): Float32Array;
  /** 1 for each slot that has a vector, else 0. */
  holds(slots: Uint32Array): Uint8Array;
  /** The slots of the live rows among up to `count` rows from `first` on. */
  liveSlots(first: number, count: number): Uint32Array;
  liveCount(): number;
  status(): NativeStatus;
  /** Whether somebody searched since the last call, on this thread or another. */
  takeSearched(): boolean;
  /** Adds up to `rows` more rows to a copy of the graph and puts it in use. `care`: 0 quick, 1 thorough. */
  extend(rows: number, care: number, threads: number): Promise<void>;
  /**
   * Makes sketches of the rows outside the graph that lack them (node/engine/native/codes/sketches.h); INVALID_ARGUMENT
   * where rows get none.
   */
  sketch(threads: number): Promise<void>;
  /** Refines up to `rows` of the rows that were linked quickly, in the graph in use, which must exist. */
  refine(rows: number, threads: number): Promise<void>;
  /** Measures the effort that the recall target needs on the present graph, which must exist. */
  calibrate(recallTarget: number, threads: number): Promise<void>;
  /**
   * Divides the rows of the present graph, which must exist, into cells for filtered searches
   * (node/engine/native/cells/cells.h).
   */
  makeCells(recallTarget: number, threads: number): Promise<void>;
  /**
   * Makes the index again from the live rows alone, with their originals in a new file, and a graph from `graphRowsMin`
   * rows on.
   */
  compact(originals: string, graphRowsMin: number, threads: number): Promise<void>;
  /**
   * Of an index with `onDisk`: puts its live rows in the order of their cells, with their originals in a new file.
   * Nothing may be put from now on; rows may be removed.
   */
  seal(originals: string, recallTarget: number, threads: number): Promise<void>;
  save(path: string): Promise<void>;
  /** Fills a fresh index from a save and its originals. */
  load(path: string, originals: string, threads: number): Promise<void>;
  /** Frees what only building needs, when nothing is left to build. */
  rest(): void;
  /** The index's number for `searchInline`, of any thread; the same at each call. */
  share(): number;
  /** Makes running calls fail; resolves when they have ended and the memory is free. */
  close(): Promise<void>;
}

export interface NativeStatus {
  /** Number of rows, including dead ones. */
  rows: number;
  live: number;
  /** Rows of the graph: always the first ones. */
  graphRows: number;
  graphDead: number;
  /** Rows of the graph that were linked with care or refined: the first ones. */
  refinedRows: number;
  /**
   * Rows that a calibrated walk expands on average (ef, if it were fixed); 0 without a graph, or when a walk can't
   * reach the target.
   */
  effortAt10: number;
  effortAt100: number;
  /** By how many deviations exact scores may exceed approximate ones: decides how many rows are scored again. */
  deviations: number;
  /** Rows of the graph at its last calibration; 0 if there was none. */
  effortRows: number;
  /** Rows outside the graph that get sketches at the next `sketch`; 0 where rows get none. */
  unsketchedRows: number;
  /** Rows that filtered searches find in cells: the first ones; 0 if there are no cells. */
  cellRows: number;
  /** 1 if the originals were found truncated, unreadable or changed: reading them fails from then on. */
  damaged: number;
  memoryBytes: number;
  /** Bytes of codes that are in a file. */
  spilledBytes: number;
  /** Path of the originals file in use. */
  originals: string;
}

export interface NativeBinding {
  VectorIndex: new (options: {
    metric: Metric;
    dim: number;
    /** Default: int8. */
    quantization?: Quantization | undefined;
    /** File for the originals; it is emptied. */
    originals: string;
    /** One of `kernelNames()`; default: the fastest. */
    kernels?: string | undefined;
    /**
     * Whether codes go into a file beside the originals, without a name, and there is never a graph (DiskVectorIndex).
     */
    onDisk?: boolean | undefined;
  }) => AddonVectorIndex;
  FilterIndex: new () => AddonFilterIndex;
  /**
   * The table by which cases are folded (node/engine/filter/case-fold.ts), for the process: the bytes of 65,536 code
   * units, and pairs of code points beyond them, rising. Needed before a filter that searches in texts. A second call
   * does nothing.
   */
  foldCases(units: Uint8Array, pairs: Uint32Array): void;
  /**
   * Searches the index with this number (`share`) on the calling thread: the answer of `search`. Over all its slots, or
   * over those that pass the filter `program` (FilterProgram) in the filter index `filters` (its `share`); null: no
   * filter. null: an index is closed, the query of another dimension, items are in no list of the filter index, files
   * or the memory fail, or the search would take long. `counted` as of `search`. With `room`, an answer that is not
   * counted and finds place there is the number of its hits: their slots are in the first half of `room`, their scores
   * in the second.
   */
  searchInline(
    index: number,
    query: Float32Array,
    k: number,
    effort: number,
    ef: number,
    filters: number | null,
    program: Uint32Array | null,
    counted?: true,
    room?: Float64Array,
  ): SlotScores | number | null;
  /**
   * Searches several indexes with `onDisk` and of one kind at once, by a few tasks: arguments from `query` on are those
   * of `search`, for the slots of all. The hits of all tasks together, of which one has all, are those of all indexes:
   * with ties, in no order, and perhaps with more than k, or with a slot twice that was put again meanwhile. Of all
   * indexes together, rows are scored again by their originals; of each by itself, there would be more of them.
   */
  searchTogether(
    indexes: AddonVectorIndex[],
    query: Float32Array,
    k: number,
    effort: number,
    ef: number,
    allowed: number,
    words: Uint32Array | null,
    allowedCount: number,
    counted?: true,
  ): Promise<SlotScores>[];
  /**
   * As searchInline, by boosted scores (`boosts`: boostProgram): the slots of the best k, of all that tie with the
   * last, and of few others, in no order, into `room`: the slot, its unboosted score, and its values as of
   * `boostValues`. Answers how many. null: also where that is not for one search alone. `counts` gets what it took: six
   * numbers, SlotSearchCost from `scored` to `allowed`.
   */
  searchBoosted(
    index: number,
    query: Float32Array,
    k: number,
    effort: number,
    ef: number,
    filters: number,
    program: Uint32Array | null,
    boosts: Uint32Array,
    room: Float64Array,
    counts: Float64Array,
  ): number | null;
  /**
   * What boosts (`program`: boostProgram) look at of the first `count` of `slots`, on the calling thread, in the filter
   * index with this number: into `room`, as sharedBoostValues says. false: it is not made, or see there.
   */
  boostValues(filters: number, program: Uint32Array, slots: Float64Array, count: number, room: Float64Array): boolean;
  /** The instruction sets of inner loops that this processor supports, fastest first. */
  kernelNames(): string[];
}

/** How the addon numbers the care with which rows are linked. */
export const CARE = { quick: 0, thorough: 1 } as const;

const CALIBRATED = [0, 0] as const;
const EXACT = [2, 0] as const;

/** An effort as the addon takes it: the number of its kind, and what is given. */
export function effortNumbers(effort: SearchEffort): readonly [kind: number, given: number] {
  return effort.type === 'ef' ? [1, effort.ef] : effort.type === 'exact' ? EXACT : CALIBRATED;
}

let binding: NativeBinding | undefined;

/** Loads the addon, once per JavaScript thread. Errors: those of addonFile. */
export function nativeBinding(): NativeBinding {
  if (binding === undefined) {
    binding = createRequire(__filename)(addonFile('vectors')) as NativeBinding;
  }
  return binding;
}

/**
 * A failure of the addon as a QuiverError: `storage_failed` for the disk, `internal` for the others (closed, wrong
 * arguments, out of memory). The addon's own error is the cause; its message may contain paths and is for the log.
 */
export function nativeError(error: unknown): QuiverError {
  if (error instanceof QuiverError) return error;
  // Recognised by its members, not its class: an addon that was loaded in one realm throws that realm's Error.
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  const details = { code, message };
  switch (code ?? '') {
    case 'STORAGE_FAILED':
      return new QuiverError('storage_failed', 'the vector index cannot use its disk', { cause: error, details });
    case 'CLOSED':
      return new QuiverError('internal', 'the vector index is closed', { cause: error, details });
    case 'OUT_OF_MEMORY':
      return new QuiverError('internal', 'the vector index is out of memory', { cause: error, details });
    default:
      return new QuiverError('internal', 'the vector index was used wrongly', { cause: error, details });
  }
}
