/** The limit is given per minute. */
export const WINDOW_MS = 60_000;
const WINDOW_US = WINDOW_MS * 1_000;

/** The cell with the number of the next admission, negative once the window is retired; the ring follows. */
const NEXT = 0;
const RING = 1;
/**
 * In the place of the next admission once the window is retired: no time, so that nobody can take the place any more.
 */
const SEALED = -1n;

/**
 * What came of a request: it is counted, with `size` admissions in the window now; or all places are taken, the first
 * until `firstFreeMs`; or another window has taken the place of this one.
 */
export type WindowAdmission =
  | { type: 'admitted'; size: number }
  | { type: 'full'; firstFreeMs: number }
  | { type: 'retired' };

const RETIRED: WindowAdmission = { type: 'retired' };

/**
 * The latest admissions of one subject, in memory that the threads of a process share: a ring of their times, in
 * microseconds of a clock that all of them share. The place of the next admission holds the time of the one that is
 * `capacity` admissions older; it is free once that is a minute old. So any 60 seconds hold at most `capacity` of them,
 * exactly, whatever the threads do at once.
 *
 * Without locks, because a thread may be ended at any point. An admission is made by the one exchange that takes its
 * place. The number of the next one follows, moved on by whoever comes first. Each place also says in which round of
 * the ring it was taken (even or odd), by which a place that was just taken differs from one that is not free yet.
 */
export class SharedWindow {
  private readonly cells: BigInt64Array;
  readonly capacity: number;

  /** `memory`: that of a window made by {@link create}, maybe on another thread. */
  constructor(readonly memory: SharedArrayBuffer) {
    this.cells = new BigInt64Array(memory);
    this.capacity = this.cells.length - RING;
  }

  /** `timesUs`: admissions that it holds already, the oldest first; the latest `capacity` of them count. */
  static create(capacity: number, timesUs: readonly number[] = []): SharedWindow {
    const window = new SharedWindow(new SharedArrayBuffer((RING + capacity) * BigInt64Array.BYTES_PER_ELEMENT));
    // The first round is odd: a place that was never taken is 0, which is even.
    let next = capacity;
    for (const timeUs of timesUs.slice(-capacity)) {
      window.cells[window.placeOf(next)] = window.cellOf(timeUs, next);
      next += 1;
    }
    window.cells[NEXT] = BigInt(next);
    return window;
  }

  admit(nowMs: number): WindowAdmission {
    const { cells } = this;
    const nowUs = microseconds(nowMs);
    for (;;) {
      const next = Number(Atomics.load(cells, NEXT));
      if (next < 0) return RETIRED;
      const place = this.placeOf(next);
      const found = Atomics.load(cells, place);
      if (found === SEALED) return RETIRED;
      if (this.isTakenBy(next, found)) {
        this.moveOn(next);
        continue;
      }
      // Only now is it certain that the place was looked at in this round.
      if (Number(Atomics.load(cells, NEXT)) !== next) continue;
      if (!isFree(found, nowUs)) return { type: 'full', firstFreeMs: timeOf(found) / 1_000 + WINDOW_MS };
      if (Atomics.compareExchange(cells, place, found, this.cellOf(nowUs, next)) !== found) continue;
      this.moveOn(next);
      return { type: 'admitted', size: this.sizeAfter(next, nowUs) };
    }
  }

  get isRetired(): boolean {
    return Atomics.load(this.cells, NEXT) < 0n;
  }

  /** Whether nothing was admitted for a minute. */
  isQuiet(nowMs: number): boolean {
    const next = Number(Atomics.load(this.cells, NEXT));
    return isFree(Atomics.load(this.cells, this.placeOf(next - 1)), microseconds(nowMs));
  }

  /**
   * Ends the window: nothing is admitted any more. Answers what was in the minute before `nowMs`, the oldest first. To
   * be called once.
   */
  retire(nowMs: number): number[] {
    const { cells, capacity } = this;
    let next = Number(Atomics.load(cells, NEXT));
    for (;;) {
      const found = Number(Atomics.compareExchange(cells, NEXT, BigInt(next), BigInt(-next)));
      if (found === next) break;
      next = found;
    }
    // Whoever took the place before this is counted; whoever comes later can't take it.
    const last = Atomics.exchange(cells, this.placeOf(next), SEALED);
    const times: number[] = [];
    const latestExpired = latestFreeCell(microseconds(nowMs));
    // All are looked at: threads that counted at once may have read the clock in another order.
    const keep = (cell: bigint): void => {
      if (cell > latestExpired) times.push(timeOf(cell));
    };
    const isLatest = this.isTakenBy(next, last);
    if (!isLatest) keep(last);
    for (let i = 1; i < capacity; i += 1) keep(cells[this.placeOf(next + i)]);
    if (isLatest) keep(last);
    return times;
  }

  private moveOn(next: number): void {
    Atomics.compareExchange(this.cells, NEXT, BigInt(next), BigInt(next + 1));
  }

  /** Admissions in the window, up to number `last`: as times rise, those that are too old are at its beginning. */
  private sizeAfter(last: number, nowUs: number): number {
    let old = 0;
    let recent = this.capacity - 1;
    while (old < recent) {
      const middle = (old + recent) >>> 1;
      if (isFree(Atomics.load(this.cells, this.placeOf(last + 1 + middle)), nowUs)) old = middle + 1;
      else recent = middle;
    }
    return this.capacity - old;
  }

  private placeOf(admission: number): number {
    return RING + (admission % this.capacity);
  }

  private cellOf(timeUs: number, admission: number): bigint {
    return BigInt(timeUs) * 2n + BigInt(this.roundOf(admission));
  }

  private isTakenBy(admission: number, cell: bigint): boolean {
    return Number(cell & 1n) === this.roundOf(admission);
  }

  private roundOf(admission: number): number {
    return Math.floor(admission / this.capacity) % 2;
  }
}

/** Whether a place was never taken, or so long ago that it may be taken again. */
function isFree(cell: bigint, nowUs: number): boolean {
  return cell === 0n || timeOf(cell) + WINDOW_US <= nowUs;
}

/** The highest value of a place that is free: comparing with it is quick. */
function latestFreeCell(nowUs: number): bigint {
  return nowUs < WINDOW_US ? 0n : BigInt(nowUs - WINDOW_US) * 2n + 1n;
}

function timeOf(cell: bigint): number {
  return Number(cell >> 1n);
}

function microseconds(timeMs: number): number {
  return Math.round(timeMs * 1_000);
}
