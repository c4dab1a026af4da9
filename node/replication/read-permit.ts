import type { Clock } from '../../shared/base/time/clock';

/** Words of the shared memory. */
const GRANT = 0;
/** The end of the grant by each of the clocks, in whole milliseconds; they wrap around. */
const UNTIL = [1, 2] as const;
const ROLE = 3;
/** Set by readers. */
const READ = 4;
const WORDS = 5;

const PRIMARY = 1;

/**
 * No grant is longer, and one without an end is made again before this. Half of what a difference of two wrapped
 * numbers can be.
 */
const LONGEST_MS = 2 ** 30;

/**
 * The clocks by which a permit ends, each the same for all threads of the process. One of them counts the time that the
 * machine slept; the permit is over as soon as either says so (`sleeplessClock`).
 */
export interface PermitClocks {
  monotonicMs(): number;
  bootMs(): number;
}

/** What the clocks said at one moment, for the permits of all replicas that act at it. */
export class PermitReadings {
  monotonicMs = 0;
  bootMs = 0;
  /** By the replicas' clock. */
  atMs = 0;
  private momentMs: number | null = null;

  constructor(
    /** That of the replicas. */
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly clocks: PermitClocks,
  ) {}

  /**
   * `momentMs`: as the replica's clock said it at the beginning of the turn. Readings of a turn are as good at its end.
   */
  at(momentMs: number | null): this {
    if (momentMs !== null && momentMs === this.momentMs) return this;
    this.momentMs = momentMs;
    // Before the replicas' own clock: the end comes too early rather than too late.
    this.bootMs = this.clocks.bootMs();
    this.monotonicMs = this.clocks.monotonicMs();
    this.atMs = this.clock.monotonicMs();
    return this;
  }
}

/**
 * Tells other threads whether they may answer reads of a replica from what it has applied, and until when. The thread
 * of the replica grants, and withdraws before it does anything by which an answer could become wrong: before it hands
 * over, acknowledges what is not applied yet, or takes another epoch. The number of the grant is odd while there is
 * one, and another for each, so a reader also sees that there was none in between. One writer, any number of readers
 * ({@link PermitWatch}).
 */
export class ReadPermit {
  readonly memory = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT);
  private readonly words = new Int32Array(this.memory);
  private granted: { role: 'primary' | 'follower'; epoch: number; untilMs: number } | null = null;

  constructor(
    /** That of the replica. */
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    clocks: PermitClocks,
    /** Shared by all replicas with these clocks. */
    private readonly readings = new PermitReadings(clock, clocks),
  ) {}

  /**
   * What is applied may be read up to `untilMs`, by the replica's clock; -Infinity: not at all. `momentMs`: see
   * PermitReadings.
   */
  set(role: 'primary' | 'follower', epoch: number, untilMs: number, momentMs: number | null = null): void {
    const { granted } = this;
    if (untilMs === -Infinity) return this.withdraw();
    if (granted !== null && granted.role === role && granted.epoch === epoch) {
      // One without an end has to be renewed, too, but not at each step.
      // And one that is over is withdrawn: by numbers that wrap, its end would come again.
      if (granted.untilMs === untilMs && untilMs !== Infinity && untilMs > (momentMs ?? this.clock.monotonicMs()))
        return;
      if (untilMs < granted.untilMs) this.withdraw();
    } else this.withdraw();
    const { bootMs, monotonicMs, atMs } = this.readings.at(momentMs);
    const leftMs = Math.min(untilMs - atMs, LONGEST_MS);
    if (leftMs <= 0) return this.withdraw();
    Atomics.store(this.words, UNTIL[0], Math.floor(monotonicMs + leftMs) | 0);
    Atomics.store(this.words, UNTIL[1], Math.floor(bootMs + leftMs) | 0);
    if (this.granted === null) {
      Atomics.store(this.words, ROLE, role === 'primary' ? PRIMARY : 0);
      Atomics.add(this.words, GRANT, 1);
    }
    if (this.granted === null) this.granted = { role, epoch, untilMs };
    else this.granted.untilMs = untilMs;
  }

  /** Whether the grant is over, or has to be made again, though nothing happened since it was told. */
  isOutdated(): boolean {
    return (
      this.granted !== null && (this.granted.untilMs === Infinity || this.granted.untilMs <= this.clock.monotonicMs())
    );
  }

  /** Whether there was a read since the last call. */
  takeRead(): boolean {
    return Atomics.load(this.words, READ) !== 0 && Atomics.exchange(this.words, READ, 0) !== 0;
  }

  /** Nothing that was read before counts any more, unless its reader has seen that it does. */
  withdraw(): void {
    if (this.granted === null) return;
    this.granted = null;
    Atomics.add(this.words, GRANT, 1);
  }
}

/** The reader's side of a {@link ReadPermit}. */
export class PermitWatch {
  private readonly words: Int32Array;

  constructor(
    memory: SharedArrayBuffer,
    private readonly clocks: PermitClocks,
  ) {
    this.words = new Int32Array(memory);
  }

  /**
   * The grant under which a read may begin now, to be given to `holds` after it; -1: there is none, it is the main
   * thread's.
   */
  begin(): number {
    const grant = Atomics.load(this.words, GRANT);
    if ((grant & 1) !== 1 || !this.lasts()) return -1;
    // Most often it is there: threads that write it take the memory from each other.
    if (Atomics.load(this.words, READ) === 0) Atomics.store(this.words, READ, 1);
    return grant >>> 0;
  }

  /** Whether the grant is one of the primary; else that of a follower. Ask between `begin` and `holds`. */
  get isPrimary(): boolean {
    return Atomics.load(this.words, ROLE) === PRIMARY;
  }

  /** Whether what was read since `begin` was current at a moment since then. */
  holds(grant: number): boolean {
    return this.lasts() && Atomics.load(this.words, GRANT) >>> 0 === grant;
  }

  private lasts(): boolean {
    const monotonicLeft = Atomics.load(this.words, UNTIL[0]) - wrapped(this.clocks.monotonicMs());
    const bootLeft = Atomics.load(this.words, UNTIL[1]) - wrapped(this.clocks.bootMs());
    return isLeft(monotonicLeft | 0) && isLeft(bootLeft | 0);
  }
}

/** More than a grant can have is what the numbers say of one that was over weeks ago. */
function isLeft(ms: number): boolean {
  return ms > 0 && ms <= LONGEST_MS;
}

function wrapped(ms: number): number {
  return Math.ceil(ms) | 0;
}
