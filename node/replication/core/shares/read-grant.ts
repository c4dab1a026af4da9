import { LEASE_GRANTED_MS } from '../timings';

/**
 * Until when some primary may rely on this replica not leading: every answer to an append grants a lease to serve
 * reads. A new primary waits until its own grant is over before it commits anything, so that reads of the old primary
 * miss none of its writes.
 */
export class ReadGrant {
  /** Monotonic milliseconds. */
  until: number;

  /**
   * After a start, the grants of the previous process are unknown, so a full one is assumed. Exception: a store that
   * never promised to follow anyone has granted nothing.
   */
  constructor(nowMs: number, mayHaveGranted: boolean) {
    this.until = mayHaveGranted ? nowMs + LEASE_GRANTED_MS : nowMs;
  }

  extend(nowMs: number): void {
    this.until = Math.max(this.until, nowMs + LEASE_GRANTED_MS);
  }

  /**
   * The primary of the current epoch serves no more reads in it. Earlier primaries are no danger: it waited until a
   * lease that each of them needed had expired before it led.
   */
  release(nowMs: number): void {
    this.until = Math.min(this.until, nowMs);
  }
}
