/** A growing buffer of variable-length numbers (LEB128, as in Protocol Buffers) and texts. */
export class VarintWriter {
  private bytes = Buffer.allocUnsafe(1 << 16);
  length = 0;

  /** `value` is an integer from 0 to 2^53 − 1. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest > 0x7fffffff) {
      this.bytes[this.length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.bytes[this.length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  /** The length in bytes, then the text in UTF-8. */
  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.varint(length);
    this.reserve(length);
    this.bytes.write(text, this.length);
    this.length += length;
  }

  /** A copy of what was written since the last call. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length));
    this.length = 0;
    return taken;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.length + count, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}
