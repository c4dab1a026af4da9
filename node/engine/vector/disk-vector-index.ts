import { mkdirSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { replaceFile, syncFolder } from '../../../shared/base/files/stable-folder';
import type { IndexProgress } from '../../../shared/contract/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import { DiskSegment, type SavedSegment } from './disk-segment';
import { mergedHits } from './merged-hits';
import { MovedSlots } from './moved-slots';
import { attempted, type Damageable, indexFailure } from './damage-report';
import { nativeBinding, nativeError, effortNumbers } from './native-binding';
import { checkPut, checkQuery } from './vector-arguments';
import type { IndexSearch, VectorIndex, VectorIndexOptions, VectorIndexStatus } from './vector-index';

const ALLOWED = { all: 0, slots: 1, bitmap: 2 } as const;

/**
 * Bytes of original vectors in a segment: sealing reads them in another order, so the system's cache should have room
 * for them.
 */
const SEGMENT_BYTES = 256 * 1024 * 1024;
const SEGMENT_ROWS_MIN = 4096;
/** Up to so many slots that a filter allows are looked up one by one. */
const LISTED_SLOTS_MAX = 10_000;
/** Share of a segment's rows that may be dead before it is sealed again. */
const DEAD_SHARE_MAX = 0.25;
/** Puts have paused if none came for this long: then what is scanned is sealed, if it is this share of a segment. */
const IDLE_MS = 10_000;
const IDLE_SHARE = 1 / 8;
/** So many segments may have less than half of their rows; with more, the two smallest become one. */
const SMALL_SEGMENTS_MAX = 3;
/** Rows that are moved from one segment to another at a time. */
const MOVED_ROWS = 500;
/** The pause after a failed step, for example because of a full disk. */
const RETRY_MS = 30_000;

const SAVE_FORMAT = 1;

/**
 * Segments of all indexes are sealed one after the other: each takes memory, and a process has these indexes because it
 * has little.
 */
let turns: Promise<unknown> = Promise.resolve();

type Step =
  | { type: 'seal'; segment: DiskSegment }
  | { type: 'merge'; segments: DiskSegment[] }
  | { type: 'drop'; segment: DiskSegment };

/**
 * A vector index whose codes are in files, with little memory for each row. Rows are put into the last of several
 * segments, where they are scanned. A segment that is full is sealed in the background: its rows then lie in the order
 * of cells of near ones, and searches read those cells that may hold what is near (node/engine/native/cells/cells.h),
 * calibrated to the recall target.
 *
 * Files in its folder: those of its segments (disk-segment.ts), and `save-N.json`, which names the files of a save.
 */
export class DiskVectorIndex implements VectorIndex {
  private readonly segmentRows: number;
  private readonly saves = new Map<string, SavedSegment[]>();
  private readonly moved = new MovedSlots();
  private running: Promise<void> | null = null;
  private runningStep: Step | null = null;
  /** One after the other: a save, and what moves rows that no journal names. */
  private exclusive: Promise<unknown> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;
  private lastPutMs = -Infinity;
  private retryAtMs = 0;
  private optimizing = false;
  private closing: Promise<void> | null = null;
  private readonly damageable: Damageable = {
    isDamaged: () => this.closing === null && this.segments.some(({ addon }) => addon.status().damaged !== 0),
    onDamaged: (damage) => this.options.onDamaged(damage),
  };

  private constructor(
    private readonly options: VectorIndexOptions,
    private segments: DiskSegment[],
    private newest: { save: number; segment: number },
    private readonly kernels?: string,
  ) {
    this.segmentRows =
      options.segmentRows ??
      Math.max(SEGMENT_ROWS_MIN, Math.floor(SEGMENT_BYTES / (options.dim * Float32Array.BYTES_PER_ELEMENT)));
  }

  /**
   * An empty index, or the one in `save` (a name that {@link save} returned). Errors: storage_failed when the save is
   * missing, torn or of another kind; the folder is then unchanged.
   */
  static async open(options: VectorIndexOptions, save: string | null, kernels?: string): Promise<DiskVectorIndex> {
    const { folder } = options;
    mkdirSync(folder, { recursive: true });
    const present = await readdir(folder);
    const entries = save === null ? [] : await readSave(folder, save);
    const segments: DiskSegment[] = [];
    try {
      // One after the other: each takes memory until it is loaded.
      for (const entry of entries) segments.push(await DiskSegment.load(options, entry, kernels));
    } catch (error) {
      for (const segment of segments) await segment.addon.close();
      throw nativeError(error);
    }
    const kept = new Set([save, ...entries.map(({ number }) => DiskSegment.folderName(number))]);
    for (const name of present) if (!kept.has(name)) await rm(join(folder, name), { recursive: true, force: true });
    const newest = {
      save: save === null ? 0 : numberOf(save),
      segment: Math.max(0, ...entries.map(({ number }) => number)),
    };
    const index = new DiskVectorIndex(options, segments, newest, kernels);
    if (save !== null) index.saves.set(save, entries);
    index.adopt();
    return index;
  }

  /** Rows go on into the last segment that is not full. */
  private adopt(): void {
    const open = this.segments.filter((segment) => !segment.full);
    for (const segment of open) segment.full = segment !== open.at(-1) || segment.rows >= this.segmentRows;
    if (open.at(-1)?.full === false)
      this.segments = [...this.segments.filter((segment) => segment !== open.at(-1)), ...open.slice(-1)];
    this.wakeSoon();
  }

  get liveCount(): number {
    return this.closing === null ? this.segments.reduce((sum, { live }) => sum + live, 0) : 0;
  }

  put(slots: Uint32Array, vectors: Float32Array): void {
    this.checkOpen();
    checkPut(slots, vectors, this.options.dim);
    if (slots.length === 0) return;
    this.attempt(() => this.putIn(this.growing(), slots, vectors));
    this.lastPutMs = performance.now();
    this.wakeSoon();
  }

  /**
   * What a search finds at both places, or at neither, it asks for again (`moved`); a place may be a row of the same
   * segment.
   */
  private putIn(growing: DiskSegment, slots: Uint32Array, vectors: Float32Array): void {
    let removed = growing.put(slots, vectors);
    for (const segment of this.segments) if (segment !== growing) removed += segment.remove(slots);
    if (removed > 0) this.moved.add(slots);
    if (growing.rows >= this.segmentRows) growing.full = true;
  }

  private growing(): DiskSegment {
    const last = this.segments.at(-1);
    if (last?.full === false) return last;
    const segment = DiskSegment.make(this.options, (this.newest.segment += 1), this.kernels);
    this.segments = [...this.segments, segment];
    return segment;
  }

  remove(slots: Uint32Array): void {
    this.checkOpen();
    this.attempt(() => {
      for (const segment of this.segments) segment.remove(slots);
    });
    this.wakeSoon();
  }

  async search(query: Float32Array, options: IndexSearch): Promise<SlotScores> {
    this.checkOpen();
    const { k, effort, allowed } = options;
    checkQuery(query, k, this.options.dim);
    const { segments } = this;
    const counted = options.counted === true || undefined;
    const kind = allowed === null ? ALLOWED.all : allowed.size <= LISTED_SLOTS_MAX ? ALLOWED.slots : ALLOWED.bitmap;
    const words = allowed === null ? null : kind === ALLOWED.slots ? allowed.toArray() : allowed.toBitmap(0);
    const search = this.moved.begin();
    for (const segment of segments) segment.users += 1;
    try {
      const addons = segments.map(({ addon }) => addon);
      const [effortKind, given] = effortNumbers(effort);
      const parts =
        addons.length === 0
          ? []
          : await Promise.all(
              nativeBinding().searchTogether(
                addons,
                query,
                k,
                effortKind,
                given,
                kind,
                words,
                allowed?.size ?? 0,
                counted,
              ),
            );
      const moved = this.moved.since(search);
      if (moved.length > 0) parts.unshift(await this.scoresOf(query, moved, allowed));
      return mergedHits(parts, k, moved.length > 0);
    } catch (error) {
      throw this.failureOf(error);
    } finally {
      this.moved.end(search);
      for (const segment of segments) this.release(segment);
    }
  }

  /** The scores of slots that went elsewhere while they were searched for. */
  private async scoresOf(
    query: Float32Array,
    moved: Uint32Array[],
    allowed: IndexSearch['allowed'],
  ): Promise<SlotScores> {
    const slots = Uint32Array.from(new Set(moved.flatMap((part) => [...part])));
    const scores = await this.score(query, slots);
    const found = [...slots.keys()].filter(
      (i) => !Number.isNaN(scores[i]) && (allowed === null || allowed.has(slots[i])),
    );
    return { slots: Uint32Array.from(found, (i) => slots[i]), scores: Float64Array.from(found, (i) => scores[i]) };
  }

  async score(query: Float32Array, slots: Uint32Array): Promise<Float64Array> {
    this.checkOpen();
    checkQuery(query, 1, this.options.dim);
    const { segments } = this;
    for (const segment of segments) segment.users += 1;
    try {
      return joined(await Promise.all(segments.map(({ addon }) => addon.score(query, slots))), slots.length);
    } catch (error) {
      throw this.failureOf(error);
    } finally {
      for (const segment of segments) this.release(segment);
    }
  }

  scoreNow(query: Float32Array, slots: Uint32Array): Float64Array {
    this.checkOpen();
    checkQuery(query, 1, this.options.dim);
    return this.attempt(() =>
      joined(
        this.segments.map(({ addon }) => addon.scoreNow(query, slots)),
        slots.length,
      ),
    );
  }

  share(): null {
    this.checkOpen();
    return null;
  }

  vectors(slots: Uint32Array): Float32Array {
    this.checkOpen();
    return this.attempt(() => {
      const { dim } = this.options;
      const vectors = new Float32Array(slots.length * dim);
      let found = 0;
      for (const { addon } of this.segments) {
        const holds = addon.holds(slots);
        const places = [...slots.keys()].filter((i) => holds[i] === 1);
        if (places.length === 0) continue;
        const own = addon.vectors(Uint32Array.from(places, (i) => slots[i]));
        places.forEach((place, i) => vectors.set(own.subarray(i * dim, (i + 1) * dim), place * dim));
        found += places.length;
      }
      if (found !== slots.length) throw new QuiverError('internal', 'a slot has no vector');
      return vectors;
    });
  }

  status(): VectorIndexStatus {
    this.checkOpen();
    let [memoryBytes, diskBytes] = [0, 0];
    const segments = this.segments.map(({ sealed, addon }): VectorIndexStatus['segments'][number] => {
      const status = addon.status();
      memoryBytes += status.memoryBytes;
      diskBytes += status.rows * this.options.dim * Float32Array.BYTES_PER_ELEMENT + status.spilledBytes;
      return { kind: sealed ? 'sealed' : 'growing', rows: status.rows, deletedRows: status.rows - status.live, ef: 0 };
    });
    return {
      segments: segments.length === 0 ? [{ kind: 'growing', rows: 0, deletedRows: 0, ef: 0 }] : segments,
      memoryBytes,
      diskBytes,
      progress: this.progress(),
    };
  }

  private progress(): IndexProgress {
    const rows = this.segments.reduce((sum, segment) => sum + segment.rows, 0);
    const sealed = this.segments.reduce((sum, segment) => sum + (segment.sealed ? segment.rows : 0), 0);
    const step = this.runningStep ?? this.nextStep(true);
    const state = step === null ? 'ready' : step.type === 'seal' && !step.segment.sealed ? 'indexing' : 'compacting';
    return {
      state,
      rows,
      indexedRows: sealed,
      refinedRows: sealed,
      secondsLeft: step === null ? 0 : null,
      optimizing: this.optimizing,
    };
  }

  optimize(): void {
    this.checkOpen();
    this.optimizing = true;
    this.wake();
  }

  async purge(): Promise<void> {
    this.checkOpen();
    await this.running;
    try {
      for (const segment of [...this.segments]) {
        if (segment.retired || segment.rows === segment.live) continue;
        segment.full = true;
        await this.run(segment.live === 0 ? { type: 'drop', segment } : { type: 'seal', segment });
      }
    } catch (error) {
      this.retryAtMs = performance.now() + RETRY_MS;
      throw this.failureOf(error);
    } finally {
      this.wakeSoon();
    }
  }

  async settled(): Promise<void> {
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      while (this.closing === null) {
        this.lastPutMs = -Infinity;
        this.wake();
        if (this.running === null) return;
        await this.running;
      }
    } finally {
      clearInterval(keepAlive);
    }
  }

  save(): Promise<string> {
    return this.alone(async () => {
      this.checkOpen();
      const name = saveName((this.newest.save += 1));
      try {
        const entries: SavedSegment[] = [];
        for (const segment of this.segments) entries.push(await segment.save());
        const text = JSON.stringify(entries);
        for (const entry of entries) await syncFolder(join(this.options.folder, DiskSegment.folderName(entry.number)));
        await replaceFile(
          join(this.options.folder, name),
          JSON.stringify({ format: SAVE_FORMAT, crc: crc32(text), segments: entries }),
        );
        await syncFolder(this.options.folder);
        this.saves.set(name, entries);
      } catch (error) {
        throw this.failureOf(error);
      }
      return name;
    });
  }

  discardOtherSaves(name: string): Promise<void> {
    return this.alone(async () => {
      this.checkOpen();
      const entries = this.saves.get(name) ?? [];
      for (const other of this.saves.keys()) if (other !== name) this.saves.delete(other);
      const known = this.newest.segment;
      const kept = new Set([
        name,
        ...[...entries, ...this.segments].map(({ number }) => DiskSegment.folderName(number)),
      ]);
      for (const file of await readdir(this.options.folder)) {
        const isNew = file.startsWith('segment-') && numberOf(file) > known;
        if (!kept.has(file) && !isNew) await rm(join(this.options.folder, file), { recursive: true, force: true });
      }
      for (const segment of this.segments)
        await segment.discardOthers(entries.filter(({ number }) => number === segment.number));
    });
  }

  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      if (this.timer !== null) clearTimeout(this.timer);
      await Promise.all(this.segments.map(({ addon }) => addon.close()));
      await this.running;
      await this.exclusive;
    } finally {
      clearInterval(keepAlive);
    }
  }

  /** What is due; null: nothing. `idle`: no put for a while. */
  private nextStep(idle: boolean): Step | null {
    const { segments, segmentRows } = this;
    const growing = segments.at(-1);
    const isEmpty = segments.find(({ full, live }) => full && live === 0);
    if (isEmpty !== undefined) return { type: 'drop', segment: isEmpty };
    const waiting = segments.find(({ full, sealed }) => full && !sealed);
    if (waiting !== undefined) return { type: 'seal', segment: waiting };
    const dying = segments.find(({ sealed, rows, live }) => sealed && rows - live > rows * DEAD_SHARE_MAX);
    if (dying !== undefined) return { type: 'seal', segment: dying };
    const small = segments.filter(({ full, live }) => full && live < segmentRows / 2).sort((a, b) => a.live - b.live);
    if (small.length > SMALL_SEGMENTS_MAX) return { type: 'merge', segments: small.slice(0, 2) };
    if (
      growing?.full === false &&
      growing.live > 0 &&
      (idle || this.optimizing) &&
      growing.rows >= segmentRows * IDLE_SHARE
    )
      return { type: 'seal', segment: growing };
    return null;
  }

  private wakeSoon(): void {
    if (this.closing !== null) return;
    if (this.timer === null) this.timer = setTimeout(() => this.wake(), IDLE_MS).unref();
    else this.timer.refresh();
    if (this.segments.some(({ full, sealed }) => full && !sealed)) this.wake();
  }

  private wake(): void {
    if (this.closing !== null || this.running !== null) return;
    if (performance.now() < this.retryAtMs) {
      this.timer?.refresh();
      return;
    }
    const idle = performance.now() - this.lastPutMs >= IDLE_MS - 10;
    const step = this.nextStep(idle);
    if (step === null) {
      this.optimizing = false;
      return;
    }
    this.runningStep = step;
    this.running = Promise.resolve()
      .then(() => this.run(step))
      .catch((error: unknown) => {
        if (this.closing !== null) return;
        this.retryAtMs = performance.now() + RETRY_MS;
        this.options.onBackgroundError(this.failureOf(error));
      })
      .finally(() => {
        this.running = null;
        this.runningStep = null;
        if (this.closing !== null) return;
        this.wake();
        this.timer?.refresh();
      });
  }

  private async run(step: Step): Promise<void> {
    const turn = turns.then(() => (this.closing === null ? this.take(step) : undefined));
    turns = turn.catch(() => undefined);
    await turn;
  }

  private async take(step: Step): Promise<void> {
    if (step.type === 'drop') return this.alone(async () => this.retire(step.segment));
    if (step.type === 'merge') return this.alone(() => this.merge(step.segments));
    if (step.segment.retired) return;
    step.segment.full = true;
    await step.segment.seal(this.options.recallTarget, this.options.buildThreads);
  }

  /** The rows of all become those of a new segment, which is full. */
  private async merge(segments: DiskSegment[]): Promise<void> {
    const target = DiskSegment.make(this.options, (this.newest.segment += 1), this.kernels);
    this.segments = [target, ...this.segments];
    target.full = true;
    for (const segment of segments) {
      for (let first = 0; first < segment.rows; first += MOVED_ROWS) {
        if (this.closing !== null) return;
        const slots = segment.addon.liveSlots(first, MOVED_ROWS);
        if (slots.length > 0) this.putIn(target, slots, segment.addon.vectors(slots));
        await new Promise((next) => setImmediate(next));
      }
      this.retire(segment);
    }
  }

  /** Its files go with the next save. */
  private retire(segment: DiskSegment): void {
    this.segments = this.segments.filter((other) => other !== segment);
    segment.retired = true;
    if (segment.users === 0) void segment.addon.close();
  }

  private release(segment: DiskSegment): void {
    segment.users -= 1;
    if (segment.retired && segment.users === 0) void segment.addon.close();
  }

  private alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.exclusive.then(work);
    this.exclusive = done.catch(() => undefined);
    return done;
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

/** The scores of slots of which each part knows its own. */
function joined(parts: Float64Array[], count: number): Float64Array {
  const scores = new Float64Array(count).fill(Number.NaN);
  for (const part of parts) part.forEach((score, i) => (scores[i] = Number.isNaN(score) ? scores[i] : score));
  return scores;
}

function saveName(number: number): string {
  return `save-${number}.json`;
}

function numberOf(name: string): number {
  return Number(/\d+/.exec(name)?.[0] ?? 0);
}

async function readSave(folder: string, name: string): Promise<SavedSegment[]> {
  try {
    if (!/^save-\d+\.json$/.test(name)) throw new Error('it is no save of an index on the disk');
    const { format, crc, segments } = JSON.parse(await readFile(join(folder, name), 'utf8')) as {
      format: number;
      crc: number;
      segments: SavedSegment[];
    };
    if (format !== SAVE_FORMAT) throw new Error(`it has format ${format}, and this program knows ${SAVE_FORMAT}`);
    if (crc !== crc32(JSON.stringify(segments))) throw new Error('it does not match its checksum');
    return segments;
  } catch (cause) {
    throw new QuiverError('storage_failed', 'no such saved vector index', { cause, details: { save: name } });
  }
}
