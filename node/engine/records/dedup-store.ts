import { type MarkRecord, markFromBytes, markToBytes } from '../../../shared/contract/writes/dedup-record';
import type { KeyValueStore } from '../kv/key-value-store';
import { MARK_ORDER_RANGE, markKey, markOrderKey, MARKS_KEY, sequenceOfMarkOrderKey } from './record-keys';

/** A mark's place in their order, with what has to be known to give it up. */
export interface MarkPlace {
  sequence: number;
  token: string;
  expiresAtMs: number;
  bytes: number;
}

/** All marks of a shard. */
export interface MarkUsage {
  count: number;
  bytes: number;
  lastSequence: number;
}

/** Keys of a mark besides its bytes: its own, and its place in the order. */
const KEYS_BYTES = 33 + 9 + 28;
export const NO_MARKS: MarkUsage = { count: 0, bytes: 0, lastSequence: 0 };
/** What an answer with marks may have, so that it fits into a message. */
const PAGE_BYTES = 1024 * 1024;

/** What is stored of writes that are done once. Writing is the shard's (MarkTable). */
export class MarkStore {
  /** `shown`: what readers are shown; default: all that is stored. */
  constructor(
    private readonly store: KeyValueStore,
    private readonly shown: () => Pick<KeyValueStore, 'getMany'> = () => store,
  ) {}

  async usage(): Promise<MarkUsage> {
    const stored = await this.store.get(MARKS_KEY);
    return stored === undefined
      ? NO_MARKS
      : { bytes: stored.readDoubleLE(0), lastSequence: stored.readDoubleLE(8), count: stored.readDoubleLE(16) };
  }

  /** The mark of a write that readers see, too; null: there is none. */
  async ofShown(token: string): Promise<MarkRecord | null> {
    return (await this.find([token], this.shown())).get(token) ?? null;
  }

  /** By token; those that are there. */
  async find(
    tokens: readonly string[],
    from: Pick<KeyValueStore, 'getMany'> = this.store,
  ): Promise<Map<string, MarkRecord>> {
    const found = await from.getMany(tokens.map(markKey));
    const marks = new Map<string, MarkRecord>();
    found.forEach((bytes, i) => bytes !== undefined && marks.set(tokens[i], markFromBytes(bytes)));
    return marks;
  }

  /** The oldest, by number. */
  async oldest(limit: number): Promise<MarkPlace[]> {
    const places: MarkPlace[] = [];
    for await (const page of this.store.scan({ ...MARK_ORDER_RANGE, limit }))
      for (const { key, value } of page) places.push(placeFromEntry(key, value));
    return places;
  }

  /**
   * Those after the number, by number. One that gets another number meanwhile is not among them, but has its turn
   * behind all that come before it: whoever goes on after the last passes over none.
   */
  async after(sequence: number, limit: number): Promise<MarkRecord[]> {
    const records: MarkRecord[] = [];
    let bytes = 0;
    for await (const page of this.store.scan({ from: markOrderKey(sequence + 1), to: MARK_ORDER_RANGE.to, limit })) {
      const places = page.map(({ key, value }) => placeFromEntry(key, value));
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
export function storedMark(record: MarkRecord): { place: MarkPlace; value: Buffer } {
  const value = markToBytes(record);
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

export function usageToBytes({ bytes, lastSequence, count }: MarkUsage): Buffer {
  const value = Buffer.allocUnsafe(24);
  value.writeDoubleLE(count, 16);
  value.writeDoubleLE(bytes, 0);
  value.writeDoubleLE(lastSequence, 8);
  return value;
}

export function placeToBytes({ token, expiresAtMs, bytes }: MarkPlace): Buffer {
  const value = Buffer.allocUnsafe(28);
  value.write(token, 0, 16, 'hex');
  value.writeDoubleLE(expiresAtMs, 16);
  value.writeUInt32LE(bytes, 24);
  return value;
}

function placeFromEntry(key: Buffer, value: Buffer): MarkPlace {
  return {
    sequence: sequenceOfMarkOrderKey(key),
    token: value.toString('hex', 0, 16),
    expiresAtMs: value.readDoubleLE(16),
    bytes: value.readUInt32LE(24),
  };
}
