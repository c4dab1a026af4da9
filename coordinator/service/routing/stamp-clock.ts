import assert from 'node:assert';
import type { Clock } from '../../../shared/base/time/clock';

/** 2020-01-01T00:00:00Z. From here, 2^53 / 4096 milliseconds last until 2089. */
const EPOCH_MS = 1_577_836_800_000;
/** Stamps per millisecond. A batch that needs more takes them from the following milliseconds. */
const STAMPS_PER_MS = 4096;
/** From here on, in 2087, stamps only count up: two years' worth of them are left below 2^53. */
const PHYSICAL_MS_MAX = EPOCH_MS + 2 ** 41 - 2 ** 36;
/**
 * How fast the clock follows wall time that is ahead of it, in wall milliseconds per elapsed millisecond. If a wall
 * clock is set a year ahead and then back, stamps move by no more than the time it was wrong. If the change is
 * permanent, the clock catches up.
 */
const CATCH_UP_RATE = 2;

/**
 * Issues insertion stamps: a hybrid logical clock (Kulkarni et al., 2014) as one safe integer, (milliseconds since
 * 2020-01-01) × 4096 + counter. Every stamp is greater than any issued or observed before, whatever the wall clock
 * does.
 */
export class StampClock {
  private readonly clock: Clock;
  /** The last stamp that was issued or observed, shared by the threads of the process. */
  private readonly last: BigInt64Array;
  /** The wall time that this clock assumes; it never falls, and has a fraction. */
  private physicalMs: number;
  /** When the wall time was last read, monotonic. */
  private readAtMs: number;

  /** `last`: one number in shared memory, the same for all threads that issue stamps; at first 0. */
  constructor(options: { clock: Clock; last?: BigInt64Array }) {
    this.clock = options.clock;
    this.last = options.last ?? newStampMemory();
    this.physicalMs = Math.max(EPOCH_MS, this.clock.wallMs());
    this.readAtMs = this.clock.monotonicMs();
  }

  /** The first of `count` consecutive stamps, at least one. */
  reserve(count: number): number {
    assert(Number.isSafeInteger(count) && count >= 1, 'a reservation of at least one stamp');
    this.readClock();
    const elapsedMs = Math.floor(Math.min(this.physicalMs, PHYSICAL_MS_MAX) - EPOCH_MS);
    for (;;) {
      const last = Atomics.load(this.last, 0);
      const first = Math.max(Number(last) + 1, elapsedMs * STAMPS_PER_MS);
      assert(Number.isSafeInteger(first + count), 'stamps are used up');
      if (Atomics.compareExchange(this.last, 0, last, BigInt(first + count - 1)) === last) return first;
    }
  }

  /** Records a stamp that a shard holds: later stamps are greater. */
  observe(stamp: number): void {
    assert(Number.isSafeInteger(stamp) && stamp >= 0, 'a stamp is a safe integer');
    for (;;) {
      const last = Atomics.load(this.last, 0);
      if (stamp <= last || Atomics.compareExchange(this.last, 0, last, BigInt(stamp)) === last) return;
    }
  }

  private readClock(): void {
    const monotonicMs = this.clock.monotonicMs();
    const reachableMs = this.physicalMs + (monotonicMs - this.readAtMs) * CATCH_UP_RATE;
    this.physicalMs = Math.max(this.physicalMs, Math.min(this.clock.wallMs(), reachableMs));
    this.readAtMs = monotonicMs;
  }
}

/** Memory for the last stamp of a process. */
export function newStampMemory(): BigInt64Array {
  return new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
}
