import { type DedupEntry, type DedupRecord, dedupToBytes } from '../../../../shared/contract/writes/dedup-record';
import type { KeyValueChange } from '../../kv/key-value-store';
import { dedupKey, dedupOrderKey, DEDUP_USAGE_KEY } from '../../records/record-keys';
import {
  type DedupOrder,
  type DedupStore,
  type DedupUsage,
  placeToBytes,
  storedDedup,
  usageToBytes,
} from '../../records/dedup-store';

/**
 * Marks that a write may take away: more than the one that it adds, so that there is an end of those that have expired,
 * and few enough that it takes no longer for them.
 */
const SWEPT_MAX = 16;

/**
 * The marks of a shard while a batch of writes is planned. What it does follows from the marks before and the
 * operations in their order, and not from how they are put into batches: so it is the same on every replica.
 */
export class DedupTable {
  private readonly changed = new Map<string, DedupRecord | null>();
  private readonly gone: number[] = [];
  private readonly added: DedupOrder[] = [];

  private constructor(
    private readonly found: ReadonlyMap<string, DedupRecord>,
    /** The oldest, and those of this batch behind them. */
    private readonly oldest: DedupOrder[],
    private used: DedupUsage,
  ) {}

  /** Reads what the operations may need. */
  static async read(
    store: DedupStore,
    used: DedupUsage,
    operations: readonly { token: string }[],
  ): Promise<DedupTable> {
    const found = await store.find([...new Set(operations.map(({ token }) => token))]);
    return new DedupTable(found, used.bytes === 0 ? [] : await store.oldest((SWEPT_MAX + 1) * operations.length), used);
  }

  get usage(): DedupUsage {
    return this.used;
  }

  /** The mark of the token, if it has not expired by then. */
  alive(token: string, nowMs: number): DedupRecord | null {
    const record = this.changed.has(token) ? this.changed.get(token) : this.found.get(token);
    return record === undefined || record === null || record.expiresAtMs <= nowMs ? null : record;
  }

  /** In the place of what is there, as the newest; the oldest go. */
  put(given: Omit<DedupRecord, 'sequence'>, { nowMs, bytesMax }: { nowMs: number; bytesMax: number }): void {
    this.remove(given.token);
    const record = { ...given, sequence: this.used.lastSequence + 1 };
    const { place } = storedDedup(record);
    this.changed.set(given.token, record);
    this.oldest.push(place);
    this.added.push(place);
    this.used = { count: this.used.count + 1, bytes: this.used.bytes + place.bytes, lastSequence: record.sequence };
    this.sweep(nowMs, bytesMax);
  }

  /** A mark of another shard: of the ids whose hash is `rest` mod `shards`. */
  merge(
    { record, shards, rest }: { record: DedupRecord; shards: number; rest: number },
    bounds: { nowMs: number; bytesMax: number },
  ): void {
    const here = this.alive(record.token, -Infinity);
    if (here === null || here.digest !== record.digest) return this.put(record, bounds);
    const isOther = ({ hash }: DedupEntry): boolean => hash % shards !== rest;
    const origins = new Set(record.earlier.map(({ origin }) => origin));
    this.put(
      {
        ...here,
        expiresAtMs: Math.max(here.expiresAtMs, record.expiresAtMs),
        entries: [...here.entries.filter(isOther), ...record.entries],
        verdict: here.verdict ?? record.verdict,
        earlier: [...here.earlier.filter(({ origin }) => !origins.has(origin)), ...record.earlier],
      },
      bounds,
    );
  }

  changes(): KeyValueChange[] {
    if (this.changed.size === 0) return [];
    const changes: KeyValueChange[] = [{ type: 'put', key: DEDUP_USAGE_KEY, value: usageToBytes(this.used) }];
    for (const [token, record] of this.changed) {
      if (record !== null) changes.push({ type: 'put', key: dedupKey(token), value: dedupToBytes(record) });
      else if (this.found.has(token) || !this.added.some((place) => place.token === token))
        changes.push({ type: 'delete', key: dedupKey(token) });
    }
    const gone = new Set(this.gone);
    for (const place of this.added)
      if (!gone.has(place.sequence))
        changes.push({ type: 'put', key: dedupOrderKey(place.sequence), value: placeToBytes(place) });
    for (const sequence of gone) changes.push({ type: 'delete', key: dedupOrderKey(sequence) });
    return changes;
  }

  private remove(token: string): void {
    const record = this.changed.has(token) ? this.changed.get(token) : this.found.get(token);
    if (record === undefined || record === null) return;
    const at = this.oldest.findIndex(({ sequence }) => sequence === record.sequence);
    const bytes = at < 0 ? storedDedup(record).place.bytes : this.oldest[at].bytes;
    if (at >= 0) this.oldest.splice(at, 1);
    this.drop({ token, sequence: record.sequence, bytes });
  }

  private drop({ token, sequence, bytes }: { token: string; sequence: number; bytes: number }): void {
    this.changed.set(token, null);
    this.gone.push(sequence);
    this.used = { ...this.used, count: this.used.count - 1, bytes: this.used.bytes - bytes };
  }

  /** The newest is kept, whatever its size. */
  private sweep(nowMs: number, bytesMax: number): void {
    for (let count = 0; count < SWEPT_MAX && this.oldest.length > 0; count += 1) {
      const [place] = this.oldest;
      const isNewest = place.sequence === this.used.lastSequence;
      if (isNewest || (place.expiresAtMs > nowMs && this.used.bytes <= bytesMax)) return;
      this.oldest.shift();
      this.drop(place);
    }
  }
}
