/** Shards that are written at once: each reads a disk and writes to the target. */
const AT_ONCE = 4;
/** Silent shards that are asked at once whether they are there again. */
const PROBES = 8;
/**
 * A shard that does not answer for so long is left out when all others are done: its node, and any other replica, are
 * gone.
 */
const SILENT_MS = 60_000;
/** The same where nothing would be left without it. */
const SILENT_ALONE_MS = 600_000;

/**
 * Whose turn it is of the shards of a backup: some at a time, and one that does not answer holds up none of the others.
 * It is asked again as long as there are others, and for some time after that.
 */
export class ShardTurns {
  private readonly places = new Slots(AT_ONCE);
  private readonly probes = new Slots(PROBES);
  /** Shards that are neither done nor silent. */
  private busy = 0;
  private isAnythingTaken = false;

  constructor(private readonly nowMs: () => number) {}

  /** Of one shard, from now on until `end`. */
  begin(): ShardTurn {
    return new ShardTurn({
      places: this.places,
      probes: this.probes,
      nowMs: this.nowMs,
      busy: (change) => (this.busy += change),
      patienceMs: () => this.patienceMs(),
    });
  }

  /** A whole collection is taken: the backup is worth something without those that are silent. */
  taken(): void {
    this.isAnythingTaken = true;
  }

  private patienceMs(): number {
    if (this.isAnythingTaken) return this.busy > 0 ? Infinity : SILENT_MS;
    return SILENT_ALONE_MS;
  }
}

/** The turn of one shard. */
export class ShardTurn {
  private place: Slots | null = null;
  /** Since when it has not answered; null: it has, the last time. */
  private silentSinceMs: number | null = null;

  constructor(
    private readonly parts: {
      places: Slots;
      probes: Slots;
      nowMs: () => number;
      busy: (change: 1 | -1) => void;
      patienceMs: () => number;
    },
  ) {
    parts.busy(1);
  }

  /** Resolves when it may be asked. */
  async come(): Promise<void> {
    const wanted = this.silentSinceMs === null ? this.parts.places : this.parts.probes;
    if (this.place === wanted) return;
    this.leave();
    await wanted.take();
    this.place = wanted;
  }

  answered(): void {
    if (this.silentSinceMs === null) return;
    this.silentSinceMs = null;
    this.parts.busy(1);
    this.leave();
  }

  /** It has not answered. Answers whether it is given up. */
  silent(): boolean {
    const nowMs = this.parts.nowMs();
    if (this.silentSinceMs === null) {
      this.silentSinceMs = nowMs;
      this.parts.busy(-1);
    }
    this.leave();
    return nowMs - this.silentSinceMs > this.parts.patienceMs();
  }

  end(): void {
    this.leave();
    if (this.silentSinceMs === null) this.parts.busy(-1);
  }

  private leave(): void {
    this.place?.give();
    this.place = null;
  }
}

/** Places for some at a time, in the order of coming. */
class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async take(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  give(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
