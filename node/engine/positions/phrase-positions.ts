import type { Logger } from '../../../shared/base/logs/logger';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { KeywordIndex } from '../keyword/keyword-index';
import type { Phrase } from '../../../shared/base/text/phrase';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { decodedChunk, type PositionedItems, type PositionOrigin } from './position-file';
import { PositionMaking, type PositionTexts } from './position-making';
import {
  isSystemError,
  positionBytes,
  type PositionSegment,
  PositionSegments,
  type SlotsOfNow,
} from './position-segments';

/** A chunk is read for so many items; for fewer, reading their texts takes less. */
const ITEMS_PER_CHUNK_MIN = 4;
/** Chunks that are read at once, if they follow each other: half a megabyte. */
const CHUNKS_PER_READ = 8;
/** Items that are looked at in one step: some hundred microseconds. */
const ITEMS_PER_STEP = 512;
/** What nobody asked for in so long is closed. */
const IDLE_MS = 5 * 60_000;
/**
 * Positions are not made by themselves before phrases have read so many texts: that took them some tenths of a second.
 */
const READ_MIN = 10_000;
/** The pause after a failure, for example because of a full disk. */
const RETRY_MS = 60_000;

/** The items of a shard whose words have positions. */
export interface PositionedShard extends PositionTexts {
  slots: SlotsOfNow & { liveSlots(): Iterable<number>; readonly liveCount: number };
  keywords(): KeywordIndex;
  /** The name of the store of the records: another one may have other items under the same numbers. */
  store(): Promise<string>;
}

/**
 * In which order the words of items' texts stand, in files beside the records of a shard: so a phrase reads these
 * instead of the texts. They are made behind the writes, when the shard is optimized or phrases read many texts; what
 * was written since is in none of them. They are open only while phrases are asked for.
 */
export class PhrasePositions {
  private segments: PositionSegments | null = null;
  private opening: Promise<PositionSegments | null> | null = null;
  private making: { work: PositionMaking; done: Promise<void> } | null = null;
  private isAskedAgain = false;
  /** Whether nothing may be made before what is gone is dropped. */
  private isDropping = false;
  private isClosed = false;
  private textsRead = 0;
  private notBeforeMs = 0;
  private idle: NodeJS.Timeout | null = null;
  private users = 0;
  private bytesFound: Promise<number> | null = null;

  constructor(
    private readonly folder: string,
    private readonly items: PositionedShard,
    private readonly logger: Pick<Logger, 'warn' | 'error'>,
  ) {}

  /**
   * Finds out which of the candidates have a phrase, as far as the files tell, and gives those that have it to `found`
   * while they do. Answers the others of which nothing is known.
   */
  async decide(
    phrase: Phrase,
    candidates: ChunkedSlotSet,
    found: (slots: readonly number[]) => void,
  ): Promise<ChunkedSlotSet> {
    if (candidates.size < ITEMS_PER_CHUNK_MIN) return candidates;
    return this.using(async (segments) => {
      if (segments === null || segments.all.length === 0) return candidates;
      const counts = await inSlices(countsOf(segments, candidates));
      const bits = candidates.toBitmap(0);
      const left = bits.slice();
      const isWanted = (place: number): boolean => counts[place] >= ITEMS_PER_CHUNK_MIN;
      for (let from = 1, count = 1; from < counts.length; from += count) {
        count = 1;
        const segment = segments.segmentOf(from);
        if (!isWanted(from) || segment === undefined) continue;
        while (count < CHUNKS_PER_READ && isWanted(from + count) && segments.segmentOf(from + count) === segment)
          count += 1;
        const chunks = await this.chunksOf(segments, segment, from - segment.first, count);
        for (const [i, chunk] of chunks.entries()) {
          const isThere = (slot: number): boolean => segments.placeOf(slot) === from + i;
          await inSlices(this.look(phrase, chunk, { isThere, bits, left, found }));
        }
      }
      return ChunkedSlotSet.fromBitmap(left);
    });
  }

  /** Chunks that follow each other; none of a file that is damaged, which is removed, or can't be read now. */
  private async chunksOf(
    segments: PositionSegments,
    segment: PositionSegment,
    first: number,
    count: number,
  ): Promise<ReturnType<typeof decodedChunk>[]> {
    try {
      return (await segment.file.read(first, count)).map((chunk) => decodedChunk(chunk));
    } catch (error) {
      if (this.isClosed) throw error;
      // It was removed meanwhile.
      if (!segments.all.includes(segment)) return [];
      const isSound = isSystemError(error);
      this.logger.warn(
        { error, folder: this.folder },
        `a file of positions ${isSound ? 'cannot be read' : 'is damaged and is removed'}`,
      );
      if (!isSound) await segments.drop(segment);
      this.bytesFound = null;
      return [];
    }
  }

  /** So many texts were read for phrases. When that would have sufficed to make positions for all, they are made. */
  noteTexts(count: number): void {
    this.textsRead += count;
    if (this.textsRead < READ_MIN || performance.now() < this.notBeforeMs) return;
    if (this.textsRead >= this.items.slots.liveCount - (this.segments?.live ?? 0)) this.make();
  }

  /** Makes them for what has none, in the background. */
  make(): void {
    if (this.isClosed) return;
    this.textsRead = 0;
    if (this.making !== null || this.isDropping) {
      this.isAskedAgain = true;
      return;
    }
    const work = new PositionMaking(this.items);
    const done = this.run(work).finally(() => {
      this.making = null;
      if (!this.isAskedAgain) return;
      this.isAskedAgain = false;
      this.make();
    });
    this.making = { work, done };
  }

  get isMaking(): boolean {
    return this.making !== null;
  }

  /** Resolves when none are being made. */
  async settled(): Promise<void> {
    while (this.making !== null) await this.making.done;
  }

  /** What was in the slot is no longer there. */
  remove(slot: number): void {
    this.segments?.remove(slot);
  }

  /**
   * From here on no file has anything of an item that is gone. What that takes positions from gets others later. Throws
   * what the file system throws.
   */
  async dropStale(): Promise<void> {
    let isWanted = this.making !== null;
    this.isDropping = true;
    try {
      this.making?.work.stop();
      await this.settled();
      const hasDropped = await this.using(async (segments) => {
        if (segments === null) throw new QuiverError('storage_failed', 'the positions of words cannot be opened');
        return segments.dropStale();
      });
      isWanted ||= hasDropped;
    } finally {
      this.isDropping = false;
      this.bytesFound = null;
      isWanted ||= this.isAskedAgain;
      this.isAskedAgain = false;
      if (isWanted) this.make();
    }
  }

  /** Of the files. */
  get diskBytes(): Promise<number> {
    return (this.bytesFound ??= positionBytes(this.folder));
  }

  get memoryBytes(): number {
    return this.segments?.memoryBytes ?? 0;
  }

  /** To be called before the records are closed. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.isAskedAgain = false;
    this.making?.work.stop();
    await this.settled();
    await this.letGo();
  }

  private async run(work: PositionMaking): Promise<void> {
    try {
      await this.using(async (segments) => {
        if (segments !== null) await work.run(segments, await this.origin());
      });
    } catch (error) {
      this.notBeforeMs = performance.now() + RETRY_MS;
      this.logger.error({ error, folder: this.folder }, 'positions of words could not be made');
    } finally {
      this.bytesFound = null;
    }
  }

  /** Of the candidates in `bits`; those that are decided are taken from `left`. */
  private *look(
    phrase: Phrase,
    { items: { slots, ends }, orders }: { items: PositionedItems; orders: Buffer },
    look: {
      isThere(slot: number): boolean;
      bits: Uint32Array;
      left: Uint32Array;
      found(slots: readonly number[]): void;
    },
  ): Generator<undefined, void> {
    const { bits, left } = look;
    const { wordOrders } = this.items.keywords();
    for (let at = 0; at < slots.length; at += ITEMS_PER_STEP) {
      const wanted = wordOrders.wanted(phrase);
      const having: number[] = [];
      for (let i = at; i < Math.min(slots.length, at + ITEMS_PER_STEP); i++) {
        const slot = slots[i];
        const bit = 1 << (slot & 31);
        if (((bits[slot >>> 5] ?? 0) & bit) === 0 || !look.isThere(slot)) continue;
        left[slot >>> 5] &= ~bit;
        if (wordOrders.has(slot, wanted, orders, i === 0 ? 0 : ends[i - 1], ends[i])) having.push(slot);
      }
      if (having.length > 0) look.found(having);
      yield;
    }
  }

  /** With the open segments; null: they can't be opened. */
  private async using<Result>(work: (segments: PositionSegments | null) => Promise<Result>): Promise<Result> {
    if (this.isClosed) return work(null);
    this.users += 1;
    try {
      const segments = await (this.opening ??= this.open());
      return segments === null ? await work(null) : await segments.reading(() => work(segments));
    } finally {
      this.users -= 1;
      this.closeWhenIdle();
    }
  }

  private async open(): Promise<PositionSegments | null> {
    const segments = new PositionSegments(this.folder, this.items.slots, this.logger);
    // What is removed from now on is told to it.
    this.segments = segments;
    try {
      await segments.load(await this.origin());
      return segments;
    } catch (error) {
      this.logger.error({ error, folder: this.folder }, 'the positions of words cannot be opened');
      this.opening = null;
      this.segments = null;
      await segments.close();
      return null;
    }
  }

  private async origin(): Promise<PositionOrigin> {
    const { name, version } = this.items.keywords().origin;
    return { terms: `${version} ${name}`, store: await this.items.store() };
  }

  private closeWhenIdle(): void {
    if (this.idle !== null) clearTimeout(this.idle);
    if (this.isClosed || this.users > 0) return;
    this.idle = setTimeout(() => void this.letGo(), IDLE_MS).unref();
  }

  private async letGo(): Promise<void> {
    if (this.idle !== null) clearTimeout(this.idle);
    this.idle = null;
    if (this.users > 0 && !this.isClosed) return;
    const { segments } = this;
    this.segments = null;
    this.opening = null;
    this.items.keywords().wordOrders.forgetHashes();
    await segments?.close();
  }
}

/** How many of the candidates each chunk has. */
function* countsOf(segments: PositionSegments, candidates: ChunkedSlotSet): Generator<undefined, Uint32Array> {
  const counts = new Uint32Array(segments.placeLimit);
  const slots = candidates.toArray();
  for (let i = 0; i < slots.length; i++) {
    counts[segments.placeOf(slots[i])] += 1;
    if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
  }
  return counts;
}

const SLOTS_PER_STEP = 32_768;
