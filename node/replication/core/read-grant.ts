import { LEASE_GRANTED_MS } from './timings';

/**
 * Until when some primary may count on this replica not to lead: every answer to an append grants it a lease to serve
 * reads. A new primary waits it out before it commits anything, so that none of its writes is missed by the old one's reads.
 */
export class ReadGrant {
  /** Monotonic milliseconds. */
  until: number;

  /**
   * After a start the grants of the process before are unknown: a full one is assumed, but of a store that never promised
   * to follow anyone, which has granted nothing.
   */
  constructor(nowMs: number, mayHaveGranted: boolean) {
    this.until = mayHaveGranted ? nowMs + LEASE_GRANTED_MS : nowMs;
  }

  extend(nowMs: number): void {
    this.until = Math.max(this.until, nowMs + LEASE_GRANTED_MS);
  }

  /**
   * The primary of the current epoch serves no more reads in it. Primaries before it are no danger: it waited out a lease
   * that each of them needed before it led.
   */
  release(nowMs: number): void {
    this.until = Math.min(this.until, nowMs);
  }
}
