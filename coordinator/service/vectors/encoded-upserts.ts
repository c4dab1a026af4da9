import { operationsFromBytes } from '../../../shared/contract/writes/operation-codec';
import { aligned, TIMED_HEADER_BYTES, UPSERT_BYTES } from '../../../shared/contract/writes/operation-format';
import type { UpsertOperation } from '../../../shared/contract/shard/shard-client';
import type { EncodedItems, EncodedPart, VectorInput } from '../service';
import { isZero } from './zero-vectors';

const MAGNITUDE = 0x7fff_ffff;

/** What goes to one shard: a write of its own, and as uint32 which operations of the whole write it has, ascending. */
export interface DividedWrite {
  shard: number;
  bytes: ArrayBuffer;
  places: ArrayBuffer;
}

/** What encoded upserts need of the addon, and of the memory for bodies. */
export interface UpsertMemory {
  /** As BodyScannerAddon.divideWrite (native/body-scanner.ts). */
  divide(write: Uint8Array, shards: number, ttlMs: number): DividedWrite[];
  /** Takes back the memory of the whole write, or what came back in its place. */
  release(memory: ArrayBuffer): void;
  /** Frees the memory of a part. */
  discard(part: Buffer): void;
}

/**
 * The items of a bulk write as they go to shards: the encoded operations (shared/contract/writes/operation-format.ts),
 * which the scanner of bodies wrote. Each has an id, a vector, perhaps metadata, and nothing else, and all vectors have
 * one length. So most bulk writes never are an object for each of their items. The memory is used again once it is
 * released.
 */
export class EncodedUpserts implements EncodedItems {
  readonly count: number;
  readonly dim: number;
  private readonly whole: EncodedPart;
  private readonly memory: UpsertMemory;
  /** Where they are not the whole write. */
  private divided: EncodedPart[] = [];
  private ttlMs: number | undefined;

  constructor({ count, dim, bytes, memory }: { count: number; dim: number; bytes: Buffer; memory: UpsertMemory }) {
    this.count = count;
    this.dim = dim;
    this.whole = { shard: 0, bytes, isShared: false, places: null };
    this.memory = memory;
  }

  parts(shards: number, ttlMs: number | undefined): EncodedPart[] {
    if (shards === 1 && ttlMs === undefined) return [this.whole];
    this.ttlMs = ttlMs;
    const divided = this.memory.divide(this.whole.bytes, shards, ttlMs ?? 0);
    this.divided = divided.map(({ shard, bytes, places }) => ({
      shard,
      bytes: Buffer.from(bytes),
      isShared: false,
      places: shards === 1 ? null : new Uint32Array(places),
    }));
    return this.divided;
  }

  storedBytes(): number {
    const { count, dim } = this;
    const { bytes } = this.whole;
    const vectorBytes = dim * Float32Array.BYTES_PER_ELEMENT;
    let sum = 0;
    let at = TIMED_HEADER_BYTES;
    for (let i = 0; i < count; i++) {
      const itemBytes = vectorBytes + bytes.readUInt32LE(at + 4) + bytes.readUInt32LE(at + 20);
      sum += itemBytes;
      at = aligned(at + UPSERT_BYTES + itemBytes);
    }
    return sum;
  }

  stamp(first: number): string[] {
    const { count, dim } = this;
    const { bytes } = this.whole;
    const ids: string[] = [];
    let at = TIMED_HEADER_BYTES;
    for (let i = 0; i < count; i++) {
      bytes.writeDoubleLE(first + i, at + 8);
      const idBytes = bytes.readUInt32LE(at + 4);
      const idAt = at + UPSERT_BYTES + dim * Float32Array.BYTES_PER_ELEMENT;
      ids.push(bytes.toString('utf8', idAt, idAt + idBytes));
      at = aligned(idAt + idBytes + bytes.readUInt32LE(at + 20));
    }
    return ids;
  }

  zeros(): number[] | undefined {
    const { count, dim } = this;
    const { bytes } = this.whole;
    let found: number[] | undefined;
    let at = TIMED_HEADER_BYTES;
    for (let i = 0; i < count; i++) {
      const vectorAt = at + UPSERT_BYTES;
      const vectorBytes = dim * Float32Array.BYTES_PER_ELEMENT;
      // Of zero, too, the sign is a bit.
      if (
        (bytes.readUInt32LE(vectorAt) & MAGNITUDE) === 0 &&
        isZero(new Float32Array(bytes.buffer, bytes.byteOffset + vectorAt, dim))
      )
        (found ??= []).push(i);
      at = aligned(vectorAt + vectorBytes + bytes.readUInt32LE(at + 4) + bytes.readUInt32LE(at + 20));
    }
    return found;
  }

  operations(): UpsertOperation[] {
    const operations = operationsFromBytes(this.whole.bytes) as UpsertOperation[];
    const { ttlMs } = this;
    return ttlMs === undefined ? operations : operations.map((operation) => ({ ...operation, ttlMs }));
  }

  items(): VectorInput[] {
    const items: VectorInput[] = [];
    for (const { externalId, vector, metadata } of this.operations())
      items.push({ externalId, source: { vector }, metadata, text: undefined });
    return items;
  }

  done(): void {
    if (!this.whole.isShared) this.memory.release(this.whole.bytes.buffer as ArrayBuffer);
    for (const { bytes, isShared } of this.divided) if (!isShared) this.memory.discard(bytes);
  }
}
