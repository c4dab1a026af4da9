import type { HitPlace } from '../../../../shared/contract/shard/shard-read';

/** What a walk has found of a list, in the order of answers. Items may have gone since; none has come between. */
export interface FoundPart {
  /** All of it comes behind; null: it begins with the list. */
  after: HitPlace | null;
  slots: Uint32Array;
  scores: Float64Array;
  /** Whether nothing is behind it. */
  isEnd: boolean;
  /** By how much its scores may be others on another processor. */
  rounding: number;
  /** How many hits of the list were looked at, from its beginning. */
  reach: number;
  /** From which depth on the list could not be known as far as a page goes. */
  unknownFrom?: number;
  /** As of DeepList. */
  boostDepth?: number;
}

/** What an entry takes besides its slots and scores. */
const ENTRY_BYTES = 600;
const SLOT_BYTES = Uint32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT;

/**
 * Parts of lists that pages have not come to yet, so that the next page need not search anew: of all shards of a
 * process, bounded in bytes. What is not used for a while goes, and the longest unused first. Without them, a page
 * takes longer and is the same.
 */
export class KeptParts {
  /** By use, the longest unused first. */
  private readonly parts = new Map<string, { part: FoundPart; bytes: number; usedMs: number }>();
  private bytes = 0;
  private sweeping: NodeJS.Timeout | null = null;

  constructor(
    private readonly bounds: { bytesMax: number; unusedMs: number },
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** What the parts take. */
  get usedBytes(): number {
    return this.bytes;
  }

  get(name: string): FoundPart | undefined {
    const kept = this.parts.get(name);
    if (kept === undefined) return undefined;
    kept.usedMs = this.nowMs();
    this.parts.delete(name);
    this.parts.set(name, kept);
    return kept.part;
  }

  /** Takes the place of the one of that name. */
  put(name: string, part: FoundPart): void {
    this.remove(name);
    const bytes = ENTRY_BYTES + part.slots.length * SLOT_BYTES;
    if (bytes > this.bounds.bytesMax) return;
    this.parts.set(name, { part, bytes, usedMs: this.nowMs() });
    this.bytes += bytes;
    for (const oldest of this.parts.keys()) {
      if (this.bytes <= this.bounds.bytesMax) break;
      this.remove(oldest);
    }
    this.sweepLater();
  }

  private remove(name: string): void {
    const kept = this.parts.get(name);
    if (kept === undefined) return;
    this.parts.delete(name);
    this.bytes -= kept.bytes;
  }

  private sweepLater(): void {
    if (this.sweeping !== null || this.parts.size === 0) return;
    this.sweeping = setTimeout(() => {
      this.sweeping = null;
      this.sweep();
      this.sweepLater();
    }, this.bounds.unusedMs);
    this.sweeping.unref();
  }

  private sweep(): void {
    const before = this.nowMs() - this.bounds.unusedMs;
    for (const [name, { usedMs }] of this.parts) {
      if (usedMs > before) return;
      this.remove(name);
    }
  }
}

/** Those of this process. */
export const KEPT_PARTS = new KeptParts({ bytesMax: 64 * 1024 * 1024, unusedMs: 300_000 });
