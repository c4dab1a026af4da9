import { operationsFromBytes } from '../../../shared/contract/writes/operation-codec';
import { aligned, TIMED_HEADER_BYTES, UPSERT_BYTES } from '../../../shared/contract/writes/operation-format';
import type { UpsertOperation } from '../../../shared/contract/shard/shard-client';
import type { EncodedItems, VectorInput } from '../service';
import { isZero } from './zero-vectors';

const MAGNITUDE = 0x7fff_ffff;

/**
 * The items of a bulk write as they go to a shard: the encoded operations (shared/contract/writes/operation-format.ts),
 * which the scanner of bodies wrote. Each has an id, a vector, perhaps metadata, and nothing else, and all vectors have
 * one length. So most bulk writes never are an object for each of their items. The memory is used again once it is
 * released.
 */
export class EncodedUpserts implements EncodedItems {
  readonly count: number;
  readonly dim: number;
  bytes: Buffer;
  private readonly release: (memory: ArrayBuffer) => void;

  constructor(parts: { count: number; dim: number; bytes: Buffer; release: (memory: ArrayBuffer) => void }) {
    this.count = parts.count;
    this.dim = parts.dim;
    this.bytes = parts.bytes;
    this.release = parts.release;
  }

  stamp(first: number): string[] {
    const { bytes, count, dim } = this;
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
    const { bytes, count, dim } = this;
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
    return operationsFromBytes(this.bytes) as UpsertOperation[];
  }

  items(): VectorInput[] {
    const items: VectorInput[] = [];
    for (const { externalId, vector, metadata } of this.operations())
      items.push({ externalId, source: { vector }, metadata, text: undefined });
    return items;
  }

  done(): void {
    this.release(this.bytes.buffer as ArrayBuffer);
  }
}
