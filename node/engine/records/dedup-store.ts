import { type DedupRecord, dedupFromBytes, dedupToBytes } from '../../../shared/contract/writes/dedup-record';
import type { KeyValueStore } from '../kv/key-value-store';
import { DEDUP_ORDER_RANGE, dedupKey, dedupOrderKey, DEDUP_USAGE_KEY, sequenceOfDedupOrderKey } from './record-keys';

/** A mark's place in their order, with what has to be known to give it up. */
export interface DedupOrder {
  sequence: number;
  token: string;
  expiresAtMs: number;
  bytes: number;
}

/** All marks of a shard. */
export interface DedupUsage {
  count: number;
  bytes: number;
  lastSequence: number;
}

/** Keys of a mark besides its bytes: its own, and its place in the order. */
const KEYS_BYTES = 33 + 9 + 28;
export const NO_DEDUP: DedupUsage = { count: 0, bytes: 0, lastSequence: 0 };
/** What an answer with marks may have, so that it fits into a message. */
const PAGE_BYTES = 1024 * 1024;

/** What is stored of writes that are done once. Writing is the shard's (DedupTable). */
export class DedupStore {
  /** `shown`: what readers are shown; default: all that is stored. */
  constructor(
    private readonly store: KeyValueStore,
    private readonly shown: () => Pick<KeyValueStore, 'getMany'> = () => store,
  ) {}

  async usage(): Promise<DedupUsage> {
    const stored = await this.store.get(DEDUP_USAGE_KEY);
    return stored === undefined
      ? NO_DEDUP
      : { bytes: stored.readDoubleLE(0), lastSequence: stored.readDoubleLE(8), count: stored.readDoubleLE(16) };
  }

  /** The mark of a write that readers see, too; null: there is none. */
  async ofShown(token: string): Promise<DedupRecord | null> {
    return (await this.find([token], this.shown())).get(token) ?? null;
  }

  /** By token; those that are there. */
  async find(
    tokens: readonly string[],
    from: Pick<KeyValueStore, 'getMany'> = this.store,
  ): Promise<Map<string, DedupRecord>> {
    const found = await from.getMany(tokens.map(dedupKey));
    const marks = new Map<string, DedupRecord>();
    found.forEach((bytes, i) => bytes !== undefined && marks.set(tokens[i], dedupFromBytes(bytes)));
    return marks;
  }

  /** The oldest, by number. */
  async oldest(limit: number): Promise<DedupOrder[]> {
    const places: DedupOrder[] = [];
    for await (const page of this.store.scan({ ...DEDUP_ORDER_RANGE, limit }))
      for (const { key, value } of page) places.push(orderFromEntry(key, value));
    return places;
  }

  /**
   * Those after the number, by number. One that gets another number meanwhile is not among them, but has its turn
   * behind all that come before it: whoever goes on after the last passes over none.
   */
  async after(sequence: number, limit: number): Promise<DedupRecord[]> {
    const records: DedupRecord[] = [];
    let bytes = 0;
    for await (const page of this.store.scan({ from: dedupOrderKey(sequence + 1), to: DEDUP_ORDER_RANGE.to, limit })) {
      const places = page.map(({ key, value }) => orderFromEntry(key, value));
      const found = await this.find(places.map(({ token }) => token));
      for (const place of places) {
        const record = found.get(place.token);
        if (record?.sequence !== place.sequence) continue;
        records.push(record);
        bytes += 64 + record.entries.length * 13 + (record.verdict?.length ?? 0);
        if (bytes > PAGE_BYTES) return records;
      }
    }
    return records;
  }
}

/** What is stored of a mark, and where it stands in their order. */
export function storedDedup(record: DedupRecord): { place: DedupOrder; value: Buffer } {
  const value = dedupToBytes(record);
  return {
    place: {
      sequence: record.sequence,
      token: record.token,
      expiresAtMs: record.expiresAtMs,
      bytes: value.length + KEYS_BYTES,
    },
    value,
  };
}

export function usageToBytes({ bytes, lastSequence, count }: DedupUsage): Buffer {
  const value = Buffer.allocUnsafe(24);
  value.writeDoubleLE(count, 16);
  value.writeDoubleLE(bytes, 0);
  value.writeDoubleLE(lastSequence, 8);
  return value;
}

export function placeToBytes({ token, expiresAtMs, bytes }: DedupOrder): Buffer {
  const value = Buffer.allocUnsafe(28);
  value.write(token, 0, 16, 'hex');
  value.writeDoubleLE(expiresAtMs, 16);
  value.writeUInt32LE(bytes, 24);
  return value;
}

function orderFromEntry(key: Buffer, value: Buffer): DedupOrder {
  return {
    sequence: sequenceOfDedupOrderKey(key),
    token: value.toString('hex', 0, 16),
    expiresAtMs: value.readDoubleLE(16),
    bytes: value.readUInt32LE(24),
  };
}
