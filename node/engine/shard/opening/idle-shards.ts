import type { Shard } from '../shard';

/**
 * So few vectors are read in some milliseconds when a shard is opened: one with more stays open while there is room,
 * because whoever uses it next would wait for it.
 */
const SMALL = { rows: 2_000, bytes: 4 * 1024 * 1024 };
/** One whose items expire before is not worth closing. */
const EXPIRES_AFTER_MS = 60_000;

/** Since when an open shard is not used, as far as somebody looked. */
interface Use {
  uses: number;
  sinceMs: number;
}

/** Says which open shards are not used, and for how long: by how often each was used when somebody looked last. */
export class IdleShards {
  private readonly seen = new WeakMap<Shard, Use>();

  /**
   * How long a shard was not used by now, in milliseconds; `nowMs`: monotonic. Look often: what was not looked at
   * counts as used.
   */
  idleMs(shard: Shard, nowMs: number): number {
    const { uses } = shard;
    const use = this.seen.get(shard);
    if (use?.uses === uses) return nowMs - use.sinceMs;
    this.seen.set(shard, { uses, sinceMs: nowMs });
    return 0;
  }

  /** Whether it may be closed now; `wallMs`: the clock by which items expire. */
  mayRest(shard: Shard, wallMs: number): boolean {
    return shard.restsUntilMs > wallMs + EXPIRES_AFTER_MS;
  }

  /** Whether it is opened again in some milliseconds. */
  isSmall(shard: Shard): boolean {
    const { rows, bytes } = shard.size;
    return rows <= SMALL.rows && bytes <= SMALL.bytes;
  }
}
