import type { KeyValueEntry } from './key-value-store';

/** Entries one after the other: u32 key bytes, u32 value bytes, key, value; in little-endian order. */
export const HEAD_BYTES = 8;

/** Gathers entries without an object for each. */
export class PackedEntries {
  private bytes: Buffer;
  private end = 0;

  /** `room`: bytes that it mostly holds. */
  constructor(private readonly room: number) {
    this.bytes = Buffer.allocUnsafe(room);
  }

  get length(): number {
    return this.end;
  }

  /** Answers where the value's bytes are, as they may be changed until the next call. */
  add(key: Uint8Array, value: Uint8Array): Buffer {
    const valueAt = this.end + HEAD_BYTES + key.length;
    const end = valueAt + value.length;
    if (end > this.bytes.length) this.grow(end);
    const { bytes } = this;
    bytes.writeUInt32LE(key.length, this.end);
    bytes.writeUInt32LE(value.length, this.end + 4);
    bytes.set(key, this.end + HEAD_BYTES);
    bytes.set(value, valueAt);
    this.end = end;
    return bytes.subarray(valueAt, end);
  }

  /** What was gathered; it is empty then, and what was taken stays as it is. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.end);
    this.bytes = Buffer.allocUnsafe(this.room);
    this.end = 0;
    return taken;
  }

  private grow(least: number): void {
    const bytes = Buffer.allocUnsafe(Math.max(least, this.bytes.length * 2));
    bytes.set(this.bytes.subarray(0, this.end));
    this.bytes = bytes;
  }
}

export function* unpackedEntries(bytes: Buffer): Generator<KeyValueEntry> {
  for (let at = 0; at < bytes.length;) {
    const keyAt = at + HEAD_BYTES;
    const valueAt = keyAt + bytes.readUInt32LE(at);
    at = valueAt + bytes.readUInt32LE(at + 4);
    yield { key: bytes.subarray(keyAt, valueAt), value: bytes.subarray(valueAt, at) };
  }
}
