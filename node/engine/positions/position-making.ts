import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../../../shared/base/files/stable-folder';
import { unlessStopped } from '../../../shared/base/time/deadline';
import { inLaterSlices, inSlices } from '../../../shared/base/time/work-slices';
import type { KeywordIndex } from '../keyword/keyword-index';
import type { AnalysedLine } from '../keyword/keyword-text';
import { termsInOrder } from '../../../shared/base/text/phrase';
import { type PositionOrigin, PositionWriter } from './position-file';
import { type PositionSegment, type PositionSegments, type SlotsOfNow, UNFINISHED } from './position-segments';

/** Items of one file: so much is made anew at once when many of its items are gone. */
const DOCUMENTS_MAX = 65_536;
/** Texts that are read at once. */
const TEXTS_PER_READ = 64;
/** Slots that are looked at in one step. */
const SLOTS_PER_STEP = 16_384;
/** Files with a greater share of items that are gone are made anew. */
const DEAD_SHARE_MAX = 0.5;
/** Files that have at most so many times the items that get positions now are made anew with these: they stay few. */
const SMALL_TIMES = 2;

/** What the disk must have besides: positions may not take what writes need. */
const ROOM_BYTES = 256 * 1024 * 1024;

export interface PositionTexts {
  slots: SlotsOfNow & { liveSlots(): Iterable<number> };
  keywords(): KeywordIndex;
  /** The lines of items; null: there is none in the slot. */
  lines(slots: readonly number[]): Promise<(readonly AnalysedLine[] | null)[]>;
  /** What was read from the records by now is on stable storage when it resolves. */
  stabilise(): Promise<void>;
}

/** Resolves at the end of the turn that was asked for last. */
let lastTurn: Promise<void> = Promise.resolve();

/**
 * Makes files of positions for the items of a shard that are in none. All shards of a process together take at most
 * half of it: they read texts in turns, each some at a time.
 */
export class PositionMaking {
  private readonly stopping = new AbortController();

  constructor(private readonly items: PositionTexts) {}

  /** It ends soon. */
  stop(): void {
    this.stopping.abort();
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  async run(segments: PositionSegments, origin: PositionOrigin): Promise<void> {
    const anew = await this.segmentsAnew(segments);
    const slots = this.items.slots.liveSlots()[Symbol.iterator]();
    while (!this.isStopped) {
      const some = await inSlices(this.next(slots, segments, anew));
      if (some.length === 0) break;
      await this.makeFile(some, segments, origin);
    }
    for (const segment of [...segments.all]) if (segment.live === 0) await segments.drop(segment);
  }

  /** Does some of the work, and pauses for as long, while no other shard does; nothing where it is stopped. */
  private async inTurn(work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping;
    const before = lastTurn;
    let end = (): void => undefined;
    lastTurn = new Promise<void>((resolve) => (end = resolve));
    try {
      await unlessStopped(before, signal, () => new Error('stopped')).catch(() => undefined);
      if (this.isStopped) return;
      const startMs = performance.now();
      await work();
      await sleep(performance.now() - startMs, undefined, { signal }).catch(() => undefined);
    } finally {
      void before.then(end);
    }
  }

  /** Those whose items are put into new files. */
  private async segmentsAnew(segments: PositionSegments): Promise<ReadonlySet<PositionSegment>> {
    const { slots } = this.items;
    const { wordOrders } = this.items.keywords();
    let count = await inSlices(
      (function* (): Generator<undefined, number> {
        let found = 0;
        let looks = 0;
        for (const slot of slots.liveSlots()) {
          if (segments.placeOf(slot) === 0 && wordOrders.isThere(slot)) found += 1;
          if (++looks % SLOTS_PER_STEP === 0) yield;
        }
        return found;
      })(),
    );
    const anew = new Set<PositionSegment>();
    for (const segment of [...segments.all].sort((a, b) => a.live - b.live)) {
      const isStale = segment.live < segment.documents * (1 - DEAD_SHARE_MAX);
      if (!isStale && (segment.live > count * SMALL_TIMES || segment.documents > DOCUMENTS_MAX / 2)) continue;
      anew.add(segment);
      count += segment.live;
    }
    return anew;
  }

  private *next(
    slots: Iterator<number>,
    segments: PositionSegments,
    anew: ReadonlySet<PositionSegment>,
  ): Generator<undefined, number[]> {
    const { wordOrders } = this.items.keywords();
    const some: number[] = [];
    for (let looks = 1; some.length < DOCUMENTS_MAX; looks++) {
      const { value: slot, done } = slots.next();
      if (done === true) break;
      const place = segments.placeOf(slot);
      const segment = place === 0 ? undefined : segments.segmentOf(place);
      if (wordOrders.isThere(slot) && (segment === undefined || anew.has(segment))) some.push(slot);
      if (looks % SLOTS_PER_STEP === 0) yield;
    }
    return some;
  }

  private async makeFile(slots: readonly number[], segments: PositionSegments, origin: PositionOrigin): Promise<void> {
    const { number, path } = segments.next();
    const aside = `${path}${UNFINISHED}`;
    await mkdir(dirname(path), { recursive: true });
    await mustHaveRoom(dirname(path));
    try {
      const writer = await PositionWriter.begin(aside);
      try {
        await this.fill(writer, slots, dirname(path));
        if (this.isStopped) return;
        // A record that a crash takes away may be another one under the same number later.
        await this.items.stabilise();
        await writer.finish(origin);
      } finally {
        await writer.close();
      }
      await rename(aside, path);
      await syncFolder(dirname(path));
    } finally {
      await rm(aside, { force: true });
    }
    await segments.take(number, origin);
  }

  private async fill(writer: PositionWriter, slots: readonly number[], folder: string): Promise<void> {
    const { slots: now } = this.items;
    const items = slots
      .filter((slot) => now.isLive(slot))
      .map((slot) => ({ slot, recno: now.recnoOf(slot) }))
      .sort((a, b) => a.recno - b.recno);
    const isThere = ({ slot, recno }: { slot: number; recno: number }): boolean =>
      now.isLive(slot) && now.recnoOf(slot) === recno;
    for (let at = 0; at < items.length && !this.isStopped; at += TEXTS_PER_READ) {
      await this.inTurn(async () => {
        const some = items.slice(at, at + TEXTS_PER_READ).filter(isThere);
        const lines = await this.items.lines(some.map(({ slot }) => slot));
        const orders = await inLaterSlices(this.orders(some, lines, isThere));
        for (const [i, item] of some.entries()) {
          const order = orders[i];
          if (order !== null) await writer.add(item.slot, item.recno, order);
        }
        await mustHaveRoom(folder);
      });
    }
  }

  private *orders(
    items: readonly { slot: number; recno: number }[],
    lines: readonly (readonly AnalysedLine[] | null)[],
    isThere: (item: { slot: number; recno: number }) => boolean,
  ): Generator<undefined, (Buffer | null)[]> {
    const { wordOrders } = this.items.keywords();
    const orders: (Buffer | null)[] = [];
    for (const [i, item] of items.entries()) {
      const terms: string[][] = [];
      for (const { line, analyser } of lines[i] ?? []) terms.push(yield* termsInOrder(analyser, line));
      const order = isThere(item) ? yield* wordOrders.pack(item.slot, terms) : null;
      // Otherwise it is of several texts.
      orders.push(isThere(item) ? order : null);
      yield;
    }
    return orders;
  }
}

/** Throws where the disk is nearly full. */
async function mustHaveRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < ROOM_BYTES) throw new Error(`the disk has no more than ${bavail * bsize} bytes left`);
}
