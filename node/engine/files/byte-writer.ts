/** A growing buffer for saved states. Numbers are little-endian; typed arrays are written in their memory layout. */
export class ByteWriter {
  private buffer: Buffer;
  private used = 0;

  constructor(capacity = 65_536) {
    this.buffer = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.used;
  }

  u8(value: number): void {
    this.used = this.room(1).writeUInt8(value, this.used);
  }

  u32(value: number): void {
    this.used = this.room(4).writeUInt32LE(value, this.used);
  }

  f64(value: number): void {
    this.used = this.room(8).writeDoubleLE(value, this.used);
  }

  bytes(values: Uint8Array | Uint16Array | Uint32Array): void {
    this.room(values.byteLength).set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), this.used);
    this.used += values.byteLength;
  }

  /** Any string, lone surrogates included: one byte per character if all are below U+0100, otherwise two. */
  text(value: string): void {
    const wide = !LATIN1.test(value);
    const bytes = Buffer.from(value, wide ? 'utf16le' : 'latin1');
    this.u32(value.length * 2 + (wide ? 1 : 0));
    this.bytes(bytes);
  }

  /** Everything written since the last call. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.allocUnsafe(this.buffer.length);
    this.used = 0;
    return taken;
  }

  private room(byteCount: number): Buffer {
    if (this.used + byteCount > this.buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.used + byteCount));
      this.buffer.copy(grown, 0, 0, this.used);
      this.buffer = grown;
    }
    return this.buffer;
  }
}

/** True for strings whose characters are all below U+0100. */
export const LATIN1 = /^[\0-\xff]*$/;
