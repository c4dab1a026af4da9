import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../../shared/base/files/stable-folder';
import type { Logger } from '../../../shared/base/logs/logger';
import { PositionFile, type PositionOrigin } from './position-file';

/** Where positions are in the folder of a shard. */
export const POSITIONS_FOLDER = 'positions';
const NAME = /^(\d{1,15})\.positions$/;
/** Of a file that is not whole yet. */
export const UNFINISHED = '.new';

/** What a shard has in its slots. */
export interface SlotsOfNow {
  isLive(slot: number): boolean;
  recnoOf(slot: number): number;
}

/** One file, and what of it holds. */
export interface PositionSegment {
  readonly number: number;
  readonly file: PositionFile;
  readonly documents: number;
  /** The first of its chunks among those of all segments. */
  readonly first: number;
  /** How many of its items are still as they were. */
  live: number;
}

/** The segments of a shard that are open: which chunk has the order of the words in a slot's text. */
export class PositionSegments {
  readonly all: PositionSegment[] = [];
  /** By number of a chunk, from 1; undefined: it is gone. */
  private readonly chunks: (PositionSegment | undefined)[] = [undefined];
  /** By slot: the number of the chunk; 0: none has what is there now. */
  private places = new Uint32Array(0);
  private readonly ended: PositionFile[] = [];
  private readers = 0;
  private lastNumber = 0;
  private isClosed = false;

  constructor(
    private readonly folder: string,
    private readonly slots: SlotsOfNow,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Opens what is in the folder. What can't be used, or is of something else, is removed. */
  async load(origin: PositionOrigin): Promise<void> {
    for (const name of await namesIn(this.folder)) {
      const number = numberOf(name);
      if (name.endsWith(UNFINISHED)) await rm(join(this.folder, name), { force: true });
      if (number === null) continue;
      this.lastNumber = Math.max(this.lastNumber, number);
      await this.take(number, origin);
    }
  }

  /** A name that no file had. */
  next(): { number: number; path: string } {
    const number = ++this.lastNumber;
    return { number, path: this.path(number) };
  }

  /** Opens a file. One that is damaged or of something else is removed, one that can't be read now is left. */
  async take(number: number, origin: PositionOrigin): Promise<void> {
    if (this.isClosed) return;
    let file: PositionFile | null = null;
    try {
      file = await PositionFile.open(this.path(number));
      if (file.origin.store !== origin.store || file.origin.terms !== origin.terms)
        throw new Error('it is of other records or terms');
      await this.register(number, file);
      if (this.isClosed) await file.close();
    } catch (error) {
      if (this.isClosed) return file?.close().catch(() => undefined);
      const isSound = isSystemError(error);
      this.logger.warn(
        { error, file: this.path(number) },
        `a file of positions cannot be ${isSound ? 'read' : 'used and is removed'}`,
      );
      const segment = this.all.find((one) => one.file === file);
      if (segment !== undefined) return isSound ? this.leave(segment) : this.drop(segment);
      await file?.close();
      if (!isSound) await rm(this.path(number), { force: true }).catch(() => undefined);
    }
  }

  /** The number of the chunk that has a slot's text; 0: none. */
  placeOf(slot: number): number {
    return slot < this.places.length ? this.places[slot] : 0;
  }

  segmentOf(place: number): PositionSegment | undefined {
    return this.chunks[place];
  }

  /** One more than the highest number of a chunk. */
  get placeLimit(): number {
    return this.chunks.length;
  }

  remove(slot: number): void {
    const place = this.placeOf(slot);
    if (place === 0) return;
    this.places[slot] = 0;
    const segment = this.chunks[place];
    if (segment !== undefined) segment.live -= 1;
  }

  /** How many items are in a segment as they are now. */
  get live(): number {
    return this.all.reduce((sum, { live }) => sum + live, 0);
  }

  get bytes(): number {
    return this.all.reduce((sum, { file }) => sum + file.bytes, 0);
  }

  get memoryBytes(): number {
    return this.places.byteLength;
  }

  /** Files that are dropped meanwhile stay open until `work` ends. */
  async reading<Result>(work: () => Promise<Result>): Promise<Result> {
    this.readers += 1;
    try {
      return await work();
    } finally {
      this.readers -= 1;
      await this.closeEnded();
    }
  }

  /** Removes a segment's file; what only it has is in none. */
  async drop(segment: PositionSegment): Promise<void> {
    await rm(this.path(segment.number), { force: true }).catch(() => undefined);
    await this.leave(segment);
  }

  /**
   * Removes for good whatever has anything of an item that is gone, also what is in the folder and not open. Answers
   * whether anything was. Throws what the file system throws; then something may be left.
   */
  async dropStale(): Promise<boolean> {
    const stale = this.all.filter(({ live, documents }) => live < documents);
    for (const segment of stale) await this.leave(segment);
    const whole = new Set(this.all.map(({ number }) => `${number}.positions`));
    const others = (await namesIn(this.folder)).filter((name) => !whole.has(name));
    for (const name of others) await rm(join(this.folder, name), { recursive: true, force: true });
    if (others.length > 0) await syncFolder(this.folder);
    return stale.length > 0;
  }

  /** Has a segment no longer. */
  private async leave(segment: PositionSegment): Promise<void> {
    const at = this.all.indexOf(segment);
    if (at < 0) return;
    this.all.splice(at, 1);
    const end = segment.first + segment.file.chunkCount;
    for (let place = segment.first; place < end; place++) this.chunks[place] = undefined;
    const { places } = this;
    for (let slot = 0; slot < places.length; slot++)
      if (places[slot] >= segment.first && places[slot] < end) places[slot] = 0;
    this.ended.push(segment.file);
    await this.closeEnded();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.ended.push(...this.all.splice(0).map(({ file }) => file));
    this.chunks.length = 1;
    this.places = new Uint32Array(0);
    await this.closeEnded();
  }

  private async closeEnded(): Promise<void> {
    if (this.readers > 0) return;
    await Promise.all(this.ended.splice(0).map((file) => file.close().catch(() => undefined)));
  }

  private async register(number: number, file: PositionFile): Promise<void> {
    if (this.isClosed) return;
    const first = this.chunks.length;
    const segment: PositionSegment = { number, file, documents: file.documents, first, live: 0 };
    this.all.push(segment);
    for (let chunk = 0; chunk < file.chunkCount; chunk++) this.chunks.push(segment);
    for (let chunk = 0; chunk < file.chunkCount; chunk++) {
      const { slots, recnos } = await file.items(chunk);
      // It was dropped, or all are being closed.
      if (this.chunks[first + chunk] !== segment) return;
      for (const [i, slot] of slots.entries())
        if (this.slots.isLive(slot) && this.slots.recnoOf(slot) === recnos[i]) this.place(slot, first + chunk, segment);
    }
  }

  private place(slot: number, place: number, segment: PositionSegment): void {
    this.remove(slot);
    if (slot >= this.places.length) {
      const grown = new Uint32Array(Math.max(slot + 1, Math.ceil(this.places.length * 1.5), 1024));
      grown.set(this.places);
      this.places = grown;
    }
    this.places[slot] = place;
    segment.live += 1;
  }

  private path(number: number): string {
    return join(this.folder, `${number}.positions`);
  }
}

/** Whether it says nothing of what is in a file: too many are open, or the disk fails. */
export function isSystemError(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) && code !== 'ENOENT';
}

/** Removes the positions of a shard whose numbers of records may be given again. `folder`: of the shard. */
export async function forgetPositions(folder: string): Promise<void> {
  await rm(join(folder, POSITIONS_FOLDER), { recursive: true, force: true });
}

/** Bytes of the segments in a folder. */
export async function positionBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await namesIn(folder).catch(() => []))
    bytes += numberOf(name) === null ? 0 : ((await stat(join(folder, name)).catch(() => null))?.size ?? 0);
  return bytes;
}

function numberOf(name: string): number | null {
  const found = NAME.exec(name);
  return found === null ? null : Number(found[1]);
}

/** By their numbers; none of a folder that is not there. */
async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  });
  return names.sort((a, b) => (numberOf(a) ?? 0) - (numberOf(b) ?? 0));
}
