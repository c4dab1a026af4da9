/**
 * Reads what ByteWriter wrote. Every method throws a plain Error on bytes that end early; the caller then rebuilds its
 * state.
 */
export class ByteReader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  get atEnd(): boolean {
    return this.at === this.buffer.length;
  }

  u8(): number {
    return this.buffer.readUInt8(this.skip(1));
  }

  u32(): number {
    return this.buffer.readUInt32LE(this.skip(4));
  }

  f64(): number {
    return this.buffer.readDoubleLE(this.skip(8));
  }

  /** A view of the next bytes, not a copy. */
  bytes(byteCount: number): Buffer {
    const from = this.skip(byteCount);
    return this.buffer.subarray(from, from + byteCount);
  }

  u16Array(length: number): Uint16Array {
    const values = new Uint16Array(this.checkedLength(length, 2));
    new Uint8Array(values.buffer).set(this.bytes(length * 2));
    return values;
  }

  u32Array(length: number): Uint32Array {
    const values = new Uint32Array(this.checkedLength(length, 4));
    new Uint8Array(values.buffer).set(this.bytes(length * 4));
    return values;
  }

  text(): string {
    const head = this.u32();
    const length = head >>> 1;
    return (head & 1) === 1 ? this.bytes(length * 2).toString('utf16le') : this.bytes(length).toString('latin1');
  }

  /** Lets `read` go on in the bytes from where this reader is; it answers where it has ended. */
  lend(read: (bytes: Buffer, from: number) => number): void {
    this.at = read(this.buffer, this.at);
  }

  /** Checks a length before anything of that size is allocated: the rest of the bytes must be able to hold it. */
  private checkedLength(length: number, width: number): number {
    if (length * width > this.buffer.length - this.at) throw new Error('saved state ends early');
    return length;
  }

  private skip(byteCount: number): number {
    const from = this.at;
    if (byteCount > this.buffer.length - from) throw new Error('saved state ends early');
    this.at = from + byteCount;
    return from;
  }
}
