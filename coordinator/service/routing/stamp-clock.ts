import assert from 'node:assert';
import type { Clock } from '../../../shared/base/time/clock';
import { STAMP_EPOCH_MS, STAMPED_MS_MAX, STAMPS_PER_MS } from '../../../shared/contract/writes/stamp-time';

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
    this.physicalMs = Math.max(STAMP_EPOCH_MS, this.clock.wallMs());
    this.readAtMs = this.clock.monotonicMs();
  }

  /** The first of `count` consecutive stamps, at least one. */
  reserve(count: number): number {
    assert(Number.isSafeInteger(count) && count >= 1, 'a reservation of at least one stamp');
    this.readClock();
    const elapsedMs = Math.floor(Math.min(this.physicalMs, STAMPED_MS_MAX) - STAMP_EPOCH_MS);
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
