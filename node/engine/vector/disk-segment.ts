import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type AddonVectorIndex, nativeBinding, type NativeStatus } from './native-binding';
import type { VectorIndexOptions } from './vector-index';

/** What a save of an index says of one of its segments: the folder by its number, and the names of its files there. */
export interface SavedSegment {
  number: number;
  save: string;
  originals: string;
}

/**
 * A part of an index on the disk, in a folder of its own: rows in the order in which they came, and once it is sealed
 * in that of their cells (node/engine/native/rows/segment_sealing.h). Files: `originals-N.f32`, a new one for each
 * sealing, and `save-N.index`.
 */
export class DiskSegment {
  /** No row is put any more. */
  full = false;
  sealed = false;
  /** Rows, including dead ones. */
  rows = 0;
  /** Searches and others that use it: it closes when there are none. */
  users = 0;
  retired = false;
  /** Rises with every change of what a save would hold. */
  private changes = 0;
  private saved: { entry: SavedSegment; changes: number } | null = null;
  private lastSave = 0;
  private lastOriginals = 1;

  private constructor(
    readonly number: number,
    readonly folder: string,
    readonly addon: AddonVectorIndex,
  ) {}

  static folderName(number: number): string {
    return `segment-${number}`;
  }

  /** An empty one. Errors: those of the addon. */
  static make(options: VectorIndexOptions, number: number, kernels?: string): DiskSegment {
    const folder = join(options.folder, DiskSegment.folderName(number));
    mkdirSync(folder, { recursive: true });
    return new DiskSegment(number, folder, addonOf(options, join(folder, 'originals-1.f32'), kernels));
  }

  /** One that was saved. Errors: those of the addon, when a file is missing, torn or of another kind. */
  static async load(options: VectorIndexOptions, entry: SavedSegment, kernels?: string): Promise<DiskSegment> {
    const folder = join(options.folder, DiskSegment.folderName(entry.number));
    const scratch = join(folder, 'originals.scratch');
    const addon = addonOf(options, scratch, kernels);
    try {
      await addon.load(join(folder, entry.save), join(folder, entry.originals), options.buildThreads);
    } catch (error) {
      await addon.close();
      throw error;
    } finally {
      await rm(scratch, { force: true });
    }
    const segment = new DiskSegment(entry.number, folder, addon);
    const status = addon.status();
    segment.rows = status.rows;
    segment.sealed = status.cellRows > 0;
    segment.full = segment.sealed;
    segment.saved = { entry, changes: 0 };
    segment.lastSave = numberIn(entry.save);
    segment.lastOriginals = numberIn(entry.originals);
    return segment;
  }

  get live(): number {
    return this.addon.liveCount();
  }

  status(): NativeStatus {
    return this.addon.status();
  }

  /** Answers how many of them it had before. */
  put(slots: Uint32Array, vectors: Float32Array): number {
    const before = this.addon.liveCount();
    this.addon.put(slots, vectors);
    this.rows += slots.length;
    this.changes += 1;
    return before + slots.length - this.addon.liveCount();
  }

  /** Answers how many it had. */
  remove(slots: Uint32Array): number {
    const before = this.addon.liveCount();
    this.addon.remove(slots);
    const removed = before - this.addon.liveCount();
    if (removed > 0) this.changes += 1;
    return removed;
  }

  async seal(recallTarget: number, threads: number): Promise<void> {
    this.lastOriginals += 1;
    const path = join(this.folder, `originals-${this.lastOriginals}.f32`);
    try {
      await this.addon.seal(path, recallTarget, threads);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    this.rows = this.addon.status().rows;
    this.sealed = true;
    this.changes += 1;
  }

  /** Writes what changed since the last save; a segment that did not change keeps that. */
  async save(): Promise<SavedSegment> {
    const { changes } = this;
    if (this.saved?.changes === changes) return this.saved.entry;
    this.lastSave += 1;
    const entry = { number: this.number, save: `save-${this.lastSave}.index`, originals: this.originalsInUse() };
    await this.addon.save(join(this.folder, entry.save));
    this.saved = { entry, changes };
    return entry;
  }

  /** Removes the files that are neither in use nor in a save that is named. No save may be under way. */
  async discardOthers(entries: SavedSegment[]): Promise<void> {
    const kept = new Set(entries.flatMap(({ save, originals }) => [save, originals]));
    const inUse = numberIn(this.originalsInUse());
    // What is the same as a save that goes is written again for the next one.
    if (this.saved !== null && !kept.has(this.saved.entry.save)) this.saved = null;
    for (const file of await readdir(this.folder)) {
      // A higher number than the one in use: it is being written.
      if (kept.has(file) || (file.startsWith('originals-') && numberIn(file) >= inUse)) continue;
      await rm(join(this.folder, file), { force: true });
    }
  }

  private originalsInUse(): string {
    const { originals } = this.addon.status();
    return originals.slice(originals.lastIndexOf('/') + 1);
  }
}

function addonOf(
  { dim, metric, quantization }: VectorIndexOptions,
  originals: string,
  kernels: string | undefined,
): AddonVectorIndex {
  return new (nativeBinding().VectorIndex)({ metric, dim, quantization, originals, kernels, onDisk: true });
}

function numberIn(name: string): number {
  return Number(/\d+/.exec(name)?.[0] ?? 0);
}
