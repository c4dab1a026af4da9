import { SHARE_TAKEN_MS } from '../timings';

/** Heartbeats are further apart; what comes in between need not be remembered. */
const REMEMBERED_EVERY_MS = 50;

/**
 * A follower's share in its primary's lease: until when it may answer reads. It lasts from when this process received
 * the append whose acknowledgement earned it: no later than the primary received that acknowledgement, which is from
 * when the primary counts. So no clock is compared with another, and a process that began again holds nothing.
 */
export class HeldShare {
  /** When appends were received, by the primary's clock at sending and by this replica's own; both ascending. */
  private readonly heard: { sentAt: number; atMs: number }[] = [];
  /** When it is over, if it is not given up before; -Infinity without one. */
  until = -Infinity;

  /** An append was received that was sent later than all before. */
  hear(sentAt: number, nowMs: number): void {
    const { heard } = this;
    const last = heard[heard.length - 1];
    if (last !== undefined && nowMs - last.atMs < REMEMBERED_EVERY_MS) return;
    // What is older can't make the share last beyond now. One of these is used again: each follower hears five a
    // second.
    let free: { sentAt: number; atMs: number } | undefined;
    while (heard.length > 0 && heard[0].atMs + SHARE_TAKEN_MS < nowMs) free = heard.shift();
    if (free === undefined) heard.push({ sentAt, atMs: nowMs });
    else {
      free.sentAt = sentAt;
      free.atMs = nowMs;
      heard.push(free);
    }
  }

  /** The primary gave a share for the acknowledgement of what it sent at `sentAt`. */
  take(sentAt: number): void {
    // One that was sent earlier was also received earlier, so that the share ends too early rather than too late.
    for (const one of this.heard)
      if (one.sentAt <= sentAt && one.atMs + SHARE_TAKEN_MS > this.until) this.until = one.atMs + SHARE_TAKEN_MS;
  }

  isValid(nowMs: number): boolean {
    return nowMs < this.until;
  }

  /** Also forgets what could still earn one: a share that was given before and comes late counts no more. */
  giveUp(): void {
    this.heard.length = 0;
    this.until = -Infinity;
  }
}
