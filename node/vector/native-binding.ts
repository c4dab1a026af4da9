import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import { packageRoot } from '../../shared/process/package-root';
import type { Metric } from '../../shared/vector/metric';

/**
 * The vector index of the addon (node/native/addon.cc), as it is: the same names, argument order and meaning. Failures
 * are Errors with `code` CLOSED, STORAGE_FAILED, INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL, thrown or as rejections.
 * One of `extend`, `calibrate` and `compact` may run at a time; everything else may overlap. `extend`, `calibrate` and
 * `compact` do not keep the process alive.
 */
export interface AddonVectorIndex {
  /** Appends rows; synchronous, written to the originals file but not synced. */
  put(slots: Uint32Array, vectors: Float32Array): void;
  remove(slots: Uint32Array): void;
  /**
   * `effort`: 0 calibrated, 1 `ef`, 2 exact. `allowed`: 0 all (words null), 1 `words` lists the slots, 2 `words` is a
   * bitmap; `allowedCount`: how many slots that allows. The arrays are copied before the call returns.
   */
  search(
    query: Float32Array,
    k: number,
    effort: number,
    ef: number,
    allowed: number,
    words: Uint32Array | null,
    allowedCount: number,
  ): Promise<{ slots: Uint32Array; scores: Float64Array }>;
  /** Whether a search over so many allowed slots will scan them: then they are best given as a list. */
  prefersScan(k: number, effort: number, ef: number, allowedCount: number): boolean;
  score(query: Float32Array, slots: Uint32Array): Promise<Float64Array>;
  vectors(slots: Uint32Array): Float32Array;
  liveCount(): number;
  status(): NativeStatus;
  /** Adds up to `rows` more rows to a copy of the graph and swaps it in. */
  extend(rows: number, threads: number): Promise<void>;
  /** Measures the effort that the recall target takes on the present graph, which must exist. */
  calibrate(recallTarget: number, threads: number): Promise<void>;
  /** Starts again with the live rows alone, their originals in a new file; a graph from `graphRowsMin` rows on. */
  compact(originals: string, graphRowsMin: number, threads: number): Promise<void>;
  save(path: string): Promise<void>;
  /** Fills a fresh index from a save and its originals. */
  load(path: string, originals: string, threads: number): Promise<void>;
  /** Fails what runs; resolves when it has ended and the memory is free. */
  close(): Promise<void>;
}

export interface NativeStatus {
  /** Rows there are, dead ones too. */
  rows: number;
  live: number;
  /** Rows of the graph: the first so many. */
  graphRows: number;
  graphDead: number;
  /** Calibrated efforts; 0 without a graph or when the target is out of the walk's reach. */
  effortAt10: number;
  effortAt100: number;
  /** Rows of the graph at its last calibration, 0 if there was none. */
  effortRows: number;
  /** 1 when the originals were found to be cut short or can't be read: what is read of them fails from then on. */
  damaged: number;
  memoryBytes: number;
  /** Path of the originals file in use. */
  originals: string;
}

export interface NativeBinding {
  VectorIndex: new (options: {
    metric: Metric;
    dim: number;
    /** File for the originals; emptied. */
    originals: string;
    /** One of `kernelNames()`; the fastest if left out. */
    kernels?: string | undefined;
  }) => AddonVectorIndex;
  /** The inner loops that this processor can run, fastest first. */
  kernelNames(): string[];
}

let binding: NativeBinding | undefined;

/** Loads the addon, once per JavaScript thread. Throws when it was not built. */
export function nativeBinding(): NativeBinding {
  if (binding === undefined) {
    const path = join(packageRoot(__dirname), 'node', 'native', 'build', 'vectors.node');
    if (!existsSync(path)) throw new Error(`the native addon is missing at ${path}: run node scripts/build-native.mjs`);
    binding = createRequire(__filename)(path) as NativeBinding;
  }
  return binding;
}

/**
 * What a failure of the addon is to the rest: `storage_failed` for the disk, `internal` for the others (closed, wrong
 * arguments, out of memory). The addon's own error is the cause; its message may name paths and is for the log.
 */
export function nativeError(error: unknown): QuiverError {
  if (error instanceof QuiverError) return error;
  // By its members, not its class: an addon loaded in one realm throws that realm's Error.
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  const details = { code, message };
  switch (code) {
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
