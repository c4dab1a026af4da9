import type { Watched } from '../../../shared/cluster-store/entries/watched-entries';
import type { JobKind } from './job-kind';
import type { JobRecord } from './job-record';

interface Line {
  shares: readonly string[];
  /** The oldest first. */
  waiting: Watched<JobRecord>[];
}

/**
 * Which jobs of a kind begin next: those of the share of which the fewest run, within it of the share within, and so
 * on; last the oldest. Where a kind says so, one share never has all places: those that run long leave some to others.
 */
export class JobTurns {
  /** By all shares of a job together. */
  private readonly lines = new Map<string, Line>();
  /** By the shares down to one. */
  private readonly running = new Map<string, number>();
  /** Places by the widest of the shares. */
  private readonly taken = new Map<string, number>();
  private room: number;

  constructor(private readonly kind: Pick<JobKind, 'atOnce' | 'atOnceOfOne' | 'placesOf' | 'sharesOf'>) {
    this.room = kind.atOnce;
  }

  /** How many may begin at most. */
  get left(): number {
    return Math.max(0, this.room);
  }

  /** One that runs. */
  noteRunning(record: JobRecord): void {
    const places = this.kind.placesOf?.(record) ?? 1;
    this.room -= places;
    const shares = this.sharesOf(record);
    const [widest] = shares;
    if (widest !== undefined) this.taken.set(widest, this.takenBy(widest) + places);
    for (const share of shares) this.running.set(share, this.runningOf(share) + 1);
  }

  /** One that waits. */
  add(found: Watched<JobRecord>): void {
    const shares = this.sharesOf(found.value);
    const key = shares.at(-1) ?? '';
    const line = this.lines.get(key) ?? { shares, waiting: [] };
    this.lines.set(key, { shares, waiting: oldest(line.waiting, found, this.kind.atOnce) });
  }

  /** Those that begin now. */
  *next(): Generator<Watched<JobRecord>> {
    while (this.room > 0) {
      let first: Line | null = null;
      for (const line of this.lines.values())
        if (line.waiting.length > 0 && this.hasRoom(line) && (first === null || this.isBefore(line, first)))
          first = line;
      const found = first?.waiting.shift();
      if (found === undefined) return;
      this.noteRunning(found.value);
      yield found;
    }
  }

  private hasRoom({ shares: [widest] }: Line): boolean {
    const { atOnceOfOne = Infinity } = this.kind;
    return widest === undefined || this.takenBy(widest) < atOnceOfOne;
  }

  private isBefore(one: Line, other: Line): boolean {
    for (const [level, share] of one.shares.entries()) {
      const difference = this.runningOf(share) - this.runningOf(other.shares[level]);
      if (difference !== 0) return difference < 0;
    }
    return isOlder(one.waiting[0], other.waiting[0]);
  }

  /** Each with those that it lies in. */
  private sharesOf(record: JobRecord): string[] {
    const shares = this.kind.sharesOf?.(record) ?? [];
    return shares.map((_, level) => JSON.stringify(shares.slice(0, level + 1)));
  }

  private takenBy(widest: string): number {
    return this.taken.get(widest) ?? 0;
  }

  private runningOf(share: string): number {
    return this.running.get(share) ?? 0;
  }
}

/** The oldest of these, at most `max`, in their order. */
function oldest(known: Watched<JobRecord>[], found: Watched<JobRecord>, max: number): Watched<JobRecord>[] {
  if (known.length >= max && !isOlder(found, known[known.length - 1])) return known;
  const at = known.findIndex((one) => isOlder(found, one));
  known.splice(at < 0 ? known.length : at, 0, found);
  return known.slice(0, max);
}

export function isOlder({ value: a }: Watched<JobRecord>, { value: b }: Watched<JobRecord>): boolean {
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt;
}
