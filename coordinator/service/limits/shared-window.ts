/** The limit is given per minute. */
export const WINDOW_MS = 60_000;
/** The unit of times: 48 bits of it are 71 years, and a whole millisecond is a whole number of it. */
const TICK_US = 8;
const TICKS_PER_MS = 1_000 / TICK_US;
const WINDOW_TICKS = WINDOW_MS * TICKS_PER_MS;

/** Half a megabyte. A window for more admissions has several of them in each place. */
export const PLACES_MAX = 65_536;

/** The cell with the number of the present turn, negative once the window is retired. */
const TURN = 0;
/** The cell with the capacity; the ring follows. */
const CAPACITY = 1;
const RING = 2;
/**
 * In the place of the present turn once the window is retired: no time, so that nobody can take a part of it any more.
 */
const SEALED = -1n;

/** A cell of the ring: the tick, 14 bits of how many admissions it has, and one that is set in odd rounds. */
const COUNT_SHIFT = 1;
const TICK_SHIFT = 15n;
const BELOW_TICK = (1n << TICK_SHIFT) - 1n;

/**
 * What came of a request: it is counted, with `size` admissions in the window now; or all places are taken, the first
 * until `firstFreeMs`; or another window has taken the place of this one.
 */
export type WindowAdmission =
  | { type: 'admitted'; size: number }
  | { type: 'full'; firstFreeMs: number }
  | { type: 'retired' };

/** Some admissions, by the time of the latest of them, in ticks of 8 microseconds. */
export interface Admissions {
  tick: number;
  count: number;
}

const RETIRED: WindowAdmission = { type: 'retired' };

/**
 * The latest admissions of one subject, in memory that the threads of a process share: a ring of their times, by a
 * clock that all of them share. A place is free once its latest admission is a minute old; then the
 * next turn fills it again. So any 60 seconds hold at most `capacity` of them, whatever the threads do at once.
 *
 * With a place for each, it is free at most two ticks late. A capacity beyond {@link PLACES_MAX} has several
 * admissions in a place, which are free together, with the latest: fewer than capacity / PLACES_MAX of them late.
 *
 * Without locks, because a thread may be ended at any point. An admission is made by the one exchange that counts it in
 * its place. The number of the turn follows when the place is full, moved on by whoever comes first. Each place also
 * says in which round of the ring it was taken (even or odd), by which one that was just taken differs from one that
 * is not free yet.
 */
export class SharedWindow {
  private readonly cells: BigInt64Array;
  private readonly places: number;
  /** Admissions of each place; the first `deeper` places have one more. */
  private readonly depth: number;
  private readonly deeper: number;
  readonly capacity: number;

  /** `memory`: that of a window made by {@link create}, maybe on another thread. */
  constructor(readonly memory: SharedArrayBuffer) {
    this.cells = new BigInt64Array(memory);
    this.capacity = Number(this.cells[CAPACITY]);
    this.places = this.cells.length - RING;
    this.depth = Math.floor(this.capacity / this.places);
    this.deeper = this.capacity % this.places;
  }

  /**
   * `capacity`: at most 16,383 × `placesMax`. `before`: admissions that it holds already, the oldest first; the latest
   * `capacity` of them count.
   */
  static create(capacity: number, before: readonly Admissions[] = [], placesMax = PLACES_MAX): SharedWindow {
    const places = Math.min(capacity, placesMax);
    const memory = new SharedArrayBuffer((RING + places) * BigInt64Array.BYTES_PER_ELEMENT);
    new BigInt64Array(memory)[CAPACITY] = BigInt(capacity);
    const window = new SharedWindow(memory);
    let tooMany = before.reduce((sum, { count }) => sum + count, 0) - capacity;
    // The first round is odd: a place that was never taken is 0, which is even.
    let turn = places;
    let taken = 0;
    let latest = 0;
    for (const { tick, count } of before) {
      let left = count - Math.max(0, Math.min(count, tooMany));
      tooMany -= count;
      while (left > 0) {
        const part = Math.min(left, window.depthOf(turn) - taken);
        latest = taken === 0 ? tick : Math.max(latest, tick);
        taken += part;
        left -= part;
        window.cells[window.placeOf(turn)] = window.cellOf(turn, latest, taken);
        if (taken < window.depthOf(turn)) continue;
        turn += 1;
        taken = 0;
      }
    }
    window.cells[TURN] = BigInt(turn);
    return window;
  }

  admit(nowMs: number): WindowAdmission {
    const { cells } = this;
    const nowTick = tickAt(nowMs);
    for (;;) {
      const turn = Number(Atomics.load(cells, TURN));
      if (turn < 0) return RETIRED;
      const place = this.placeOf(turn);
      const found = Atomics.load(cells, place);
      if (found === SEALED) return RETIRED;
      const taken = this.takenIn(turn, found);
      if (taken === this.depthOf(turn)) {
        this.moveOn(turn);
        continue;
      }
      // Only now is it certain that the place was looked at in this round.
      if (Number(Atomics.load(cells, TURN)) !== turn) continue;
      if (taken === 0 && !isFree(found, nowTick))
        return { type: 'full', firstFreeMs: tickOf(found) / TICKS_PER_MS + WINDOW_MS };
      // Of two threads, the other may have read the clock later and counted first.
      const tick = Math.max(Math.ceil(nowMs * TICKS_PER_MS), taken === 0 ? 0 : tickOf(found));
      if (Atomics.compareExchange(cells, place, found, this.cellOf(turn, tick, taken + 1)) !== found) continue;
      if (taken + 1 === this.depthOf(turn)) this.moveOn(turn);
      return { type: 'admitted', size: this.sizeBefore(turn, nowTick) + taken + 1 };
    }
  }

  get isRetired(): boolean {
    return Atomics.load(this.cells, TURN) < 0n;
  }

  /** Whether nothing was admitted for a minute. */
  isQuiet(nowMs: number): boolean {
    const turn = Number(Atomics.load(this.cells, TURN));
    const nowTick = tickAt(nowMs);
    return [turn - 1, turn].every((one) => isFree(Atomics.load(this.cells, this.placeOf(one)), nowTick));
  }

  /**
   * Ends the window: nothing is admitted any more. Answers what was in the minute before `nowMs`, the oldest first. To
   * be called once.
   */
  retire(nowMs: number): Admissions[] {
    const { cells, places } = this;
    let turn = Number(Atomics.load(cells, TURN));
    for (;;) {
      const found = Number(Atomics.compareExchange(cells, TURN, BigInt(turn), BigInt(-turn)));
      if (found === turn) break;
      turn = found;
    }
    // Whoever took a part of the place before this is counted; whoever comes later can't take it.
    const last = Atomics.exchange(cells, this.placeOf(turn), SEALED);
    const admissions: Admissions[] = [];
    const latestExpired = latestFreeCell(tickAt(nowMs));
    // All are looked at: threads that counted at once may have read the clock in another order.
    const keep = (cell: bigint): void => {
      if (cell > latestExpired) admissions.push({ tick: tickOf(cell), count: countOf(cell) });
    };
    const isLatest = this.takenIn(turn, last) > 0;
    if (!isLatest) keep(last);
    for (let i = 1; i < places; i += 1) keep(cells[this.placeOf(turn + i)]);
    if (isLatest) keep(last);
    return admissions;
  }

  private moveOn(turn: number): void {
    Atomics.compareExchange(this.cells, TURN, BigInt(turn), BigInt(turn + 1));
  }

  /**
   * Admissions in the window, of the places that were taken before a turn: as times rise, those that are too old are at
   * its beginning.
   */
  private sizeBefore(turn: number, nowTick: number): number {
    let old = turn - this.places + 1;
    let recent = turn;
    while (old < recent) {
      const middle = Math.floor((old + recent) / 2);
      if (isFree(Atomics.load(this.cells, this.placeOf(middle)), nowTick)) old = middle + 1;
      else recent = middle;
    }
    return this.admissionsBefore(turn) - this.admissionsBefore(old);
  }

  /** Of all turns before one, when their places are full. */
  private admissionsBefore(turn: number): number {
    const round = Math.floor(turn / this.places);
    return turn * this.depth + round * this.deeper + Math.min(turn % this.places, this.deeper);
  }

  private depthOf(turn: number): number {
    return turn % this.places < this.deeper ? this.depth + 1 : this.depth;
  }

  private placeOf(turn: number): number {
    return RING + (turn % this.places);
  }

  private cellOf(turn: number, tick: number, taken: number): bigint {
    return (BigInt(tick) << TICK_SHIFT) | BigInt((taken << COUNT_SHIFT) | this.roundOf(turn));
  }

  /** How many admissions a place has that were made in the round of a turn. */
  private takenIn(turn: number, cell: bigint): number {
    return Number(cell & 1n) === this.roundOf(turn) ? countOf(cell) : 0;
  }

  private roundOf(turn: number): number {
    return Math.floor(turn / this.places) % 2;
  }
}

/** Whether a place was never taken, or so long ago that it may be taken again. */
function isFree(cell: bigint, nowTick: number): boolean {
  return cell === 0n || tickOf(cell) + WINDOW_TICKS <= nowTick;
}

/** The highest value of a place that is free: comparing with it is quick. */
function latestFreeCell(nowTick: number): bigint {
  return nowTick < WINDOW_TICKS ? 0n : (BigInt(nowTick - WINDOW_TICKS) << TICK_SHIFT) | BELOW_TICK;
}

function tickOf(cell: bigint): number {
  return Number(cell >> TICK_SHIFT);
}

function countOf(cell: bigint): number {
  return Number(cell & BELOW_TICK) >> COUNT_SHIFT;
}

/** The tick that is over; an admission has the one that ends then or later. */
function tickAt(nowMs: number): number {
  return Math.floor(nowMs * TICKS_PER_MS);
}
