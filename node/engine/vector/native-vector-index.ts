import assert from 'node:assert';
import { mkdirSync, readdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { SlotScores } from '../slots/slot-scores';
import { Maintainer } from './maintainer';
import { GRAPH_ROWS_MIN } from './maintenance';
import { attempted, type Damageable, indexFailure } from './damage-report';
import { type AddonVectorIndex, CARE, effortNumbers, nativeBinding, nativeError } from './native-binding';
import { checkPut, checkQuery } from './vector-arguments';
import type { IndexSearch, VectorIndex, VectorIndexOptions, VectorIndexStatus } from './vector-index';

/**
 * A new index empties its file of originals. Those of a save stay untouched until the save has proved valid: the one
 * that loads it begins without a file.
 */
const NOWHERE = '/dev/null';

const ALLOWED = { all: 0, slots: 1, bitmap: 2 } as const;

/**
 * The vector index over the FAISS addon. It scans rows while they are few. Later it walks a graph that is built in the
 * background (node/engine/native/search/search.h), with an effort calibrated to the recall target.
 *
 * Files in its folder: `originals-N.f32`, the vectors, one for each compaction; and saves (see saveName).
 */
export class NativeVectorIndex implements VectorIndex {
  private readonly maintainer: Maintainer;
  private closing: Promise<void> | null = null;
  private readonly damageable: Damageable = {
    isDamaged: () => this.closing === null && this.addon.status().damaged !== 0,
    onDamaged: (damage) => this.options.onDamaged(damage),
  };
  private readonly savesUnderWay = new Set<string>();

  private constructor(
    private readonly options: VectorIndexOptions,
    private readonly addon: AddonVectorIndex,
    /** Numbers of the newest save and originals file; the next ones continue from them. */
    private readonly newest: { save: number; originals: number },
  ) {
    this.maintainer = new Maintainer({
      dim: options.dim,
      graphRowsMin: options.graphRowsMin,
      status: () => addon.status(),
      takeSearched: () => addon.takeSearched(),
      rest: () => addon.rest(),
      run: (step) => {
        if (step.type === 'extend') return addon.extend(step.rows, CARE[step.care], options.buildThreads);
        if (step.type === 'sketch') return addon.sketch(options.buildThreads);
        if (step.type === 'refine') return addon.refine(step.rows, options.buildThreads);
        if (step.type === 'calibrate') return addon.calibrate(options.recallTarget, options.buildThreads);
        if (step.type === 'cells') return addon.makeCells(options.recallTarget, options.buildThreads);
        return this.compact();
      },
      onError: (error) => options.onBackgroundError(this.failureOf(error)),
    });
  }

  /**
   * An empty index, or the one in `save` (a name that {@link save} returned). Errors: storage_failed when the save is
   * missing, torn or of another kind; the folder is then unchanged.
   */
  static async open(
    options: VectorIndexOptions,
    save: string | null,
    /** Forces an instruction set (native-binding.ts); default: the fastest. */
    kernels?: string,
  ): Promise<NativeVectorIndex> {
    const { folder, dim, metric, quantization, buildThreads } = options;
    mkdirSync(folder, { recursive: true });
    const present = readdirSync(folder);
    const numbers = save === null ? { number: 0, originals: 1 } : parseSaveName(save);
    if (numbers === null) throw new QuiverError('storage_failed', 'no such saved vector index', { details: { save } });
    const originals = join(folder, originalsName(numbers.originals));
    let addon: AddonVectorIndex | undefined;
    try {
      addon = new (nativeBinding().VectorIndex)({
        metric,
        dim,
        quantization,
        originals: save === null ? originals : NOWHERE,
        kernels,
      });
      if (save !== null) await addon.load(join(folder, save), originals, buildThreads);
    } catch (error) {
      await addon?.close();
      throw nativeError(error);
    }
    for (const name of present) {
      if (name === save || name === originalsName(numbers.originals)) continue;
      await rm(join(folder, name), { recursive: true, force: true });
    }
    const index = new NativeVectorIndex(options, addon, { save: numbers.number, originals: numbers.originals });
    index.maintainer.changed(index.liveCount);
    return index;
  }

  get liveCount(): number {
    return this.closing === null ? this.addon.liveCount() : 0;
  }

  put(slots: Uint32Array, vectors: Float32Array): void {
    this.checkOpen();
    checkPut(slots, vectors, this.options.dim);
    this.attempt(() => this.addon.put(slots, vectors));
    this.maintainer.put(slots.length);
  }

  remove(slots: Uint32Array): void {
    this.checkOpen();
    this.attempt(() => this.addon.remove(slots));
    this.maintainer.changed(slots.length);
  }

  async search(query: Float32Array, options: IndexSearch): Promise<SlotScores> {
    this.checkOpen();
    const { k, effort, allowed } = options;
    const counted = options.counted === true || undefined;
    checkQuery(query, k, this.options.dim);
    const [kind, given] = effortNumbers(effort);
    try {
      if (allowed === null) return await this.addon.search(query, k, kind, given, ALLOWED.all, null, 0, counted);
      if (this.addon.prefersScan(k, kind, given, allowed.size)) {
        return await this.addon.search(query, k, kind, given, ALLOWED.slots, allowed.toArray(), allowed.size, counted);
      }
      return await this.addon.search(query, k, kind, given, ALLOWED.bitmap, allowed.toBitmap(0), allowed.size, counted);
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  async score(query: Float32Array, slots: Uint32Array): Promise<Float64Array> {
    this.checkOpen();
    checkQuery(query, 1, this.options.dim);
    try {
      return await this.addon.score(query, slots);
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  scoreNow(query: Float32Array, slots: Uint32Array): Float64Array {
    this.checkOpen();
    checkQuery(query, 1, this.options.dim);
    return this.attempt(() => this.addon.scoreNow(query, slots));
  }

  share(): number {
    this.checkOpen();
    return this.addon.share();
  }

  vectors(slots: Uint32Array): Float32Array {
    this.checkOpen();
    return this.attempt(() => this.addon.vectors(slots));
  }

  status(): VectorIndexStatus {
    this.checkOpen();
    const { rows, live, graphRows, graphDead, effortAt10, memoryBytes } = this.addon.status();
    const segments: VectorIndexStatus['segments'] = [
      { kind: 'growing', rows: rows - graphRows, deletedRows: rows - live - graphDead, ef: 0 },
    ];
    if (graphRows > 0) segments.push({ kind: 'sealed', rows: graphRows, deletedRows: graphDead, ef: effortAt10 });
    return {
      segments,
      memoryBytes,
      diskBytes: rows * this.options.dim * Float32Array.BYTES_PER_ELEMENT,
      progress: this.maintainer.progress(),
    };
  }

  optimize(): void {
    this.checkOpen();
    this.maintainer.optimize();
  }

  async purge(): Promise<void> {
    this.checkOpen();
    const { rows, live } = this.addon.status();
    if (rows === live) return;
    try {
      await this.maintainer.compact();
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  async settled(): Promise<void> {
    await this.maintainer.settled();
  }

  async save(): Promise<string> {
    this.checkOpen();
    this.newest.save += 1;
    const name = saveName(this.newest.save, this.originalsInUse());
    this.savesUnderWay.add(name);
    try {
      await this.addon.save(join(this.options.folder, name));
    } catch (error) {
      throw this.failureOf(error);
    } finally {
      this.savesUnderWay.delete(name);
    }
    return name;
  }

  async discardOtherSaves(name: string): Promise<void> {
    this.checkOpen();
    const saves = [name, ...this.savesUnderWay];
    const kept = new Set(saves.flatMap((save) => [save, `${save}.tmp`]));
    const originals = new Set(saves.map((save) => parseSaveName(save)?.originals));
    const inUse = this.originalsInUse();
    for (const file of await readdir(this.options.folder)) {
      const number = parseOriginalsName(file);
      // A higher number than the one in use: a compaction is writing this file.
      if (kept.has(file) || (number !== null && (number >= inUse || originals.has(number)))) continue;
      await rm(join(this.options.folder, file), { recursive: true, force: true });
    }
  }

  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    // The work that is being stopped does not keep the process alive. But a caller that waits for its end, in order to
    // close the storage below, must see it.
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      const stopped = this.maintainer.close();
      await this.addon.close();
      await stopped;
    } finally {
      clearInterval(keepAlive);
    }
  }

  private async compact(): Promise<void> {
    this.newest.originals += 1;
    const path = join(this.options.folder, originalsName(this.newest.originals));
    try {
      await this.addon.compact(path, this.options.graphRowsMin ?? GRAPH_ROWS_MIN, this.options.buildThreads);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  private originalsInUse(): number {
    const number = parseOriginalsName(this.addon.status().originals);
    assert(number !== null);
    return number;
  }

  private attempt<T>(call: () => T): T {
    return attempted(call, this.damageable);
  }

  private failureOf(error: unknown): QuiverError {
    return indexFailure(error, this.damageable);
  }

  private checkOpen(): void {
    if (this.closing !== null) throw new QuiverError('internal', 'the vector index is closed');
  }
}

/**
 * Names of the files that a native vector index keeps in its folder. A save's name contains the number of its
 * originals, so the name alone is enough to open it and to know which files may be deleted.
 */
function saveName(number: number, originals: number): string {
  return `save-${number}-${originals}.index`;
}

function originalsName(number: number): string {
  return `originals-${number}.f32`;
}

/** The numbers in a save's name; null if it is not one. */
function parseSaveName(name: string): { number: number; originals: number } | null {
  const match = /^save-(\d+)-(\d+)\.index$/.exec(name);
  return match === null ? null : { number: Number(match[1]), originals: Number(match[2]) };
}

/** N of a path to `originals-N.f32`; null if it is not one. */
function parseOriginalsName(path: string): number | null {
  const match = /(?:^|\/)originals-(\d+)\.f32$/.exec(path);
  return match === null ? null : Number(match[1]);
}
