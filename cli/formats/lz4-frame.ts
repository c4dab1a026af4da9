/**
 * Decompresses LZ4 frames, the form that Arrow files are compressed in. After the frame format 1.6.2 and the block
 * format of https://github.com/lz4/lz4/tree/dev/doc. Checksums are not compared: what is damaged shows itself in the
 * batch. Throws a RangeError when the bytes are no such frame, or would become more than `bytesMax`.
 */
export function lz4FrameDecompress(input: Uint8Array, bytesMax = 1 << 30): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  if (input.length < 7 || view.getUint32(0, true) !== MAGIC || input[4] >> 6 !== 1)
    throw new RangeError('no LZ4 frame');
  const flags = input[4];
  const hasSize = (flags & 0x08) !== 0;
  const hasBlockChecksums = (flags & 0x10) !== 0;
  const said = hasSize ? Number(view.getBigUint64(6, true)) : input.length * 4;
  if (said > bytesMax && hasSize) throw new RangeError(`${said} bytes in an LZ4 frame`);
  // No byte becomes more than 255, whatever the head says.
  const output = new Output(Math.min(said, bytesMax, input.length * 256), bytesMax);
  // Magic, flags, block size, sizes and dictionary where they are, and a checksum of them.
  let at = 6 + (hasSize ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0) + 1;
  for (;;) {
    const head = view.getUint32(at, true);
    at += 4;
    if (head === 0) return output.bytes();
    const length = head & 0x7fffffff;
    if (at + length > input.length) throw new RangeError('an LZ4 block is cut off');
    const block = input.subarray(at, at + length);
    if (head >>> 31 === 1) output.copy(block);
    else decompressBlock(block, output);
    at += length + (hasBlockChecksums ? 4 : 0);
  }
}

/** Decompresses one LZ4 block to at most `bytesMax` bytes. Throws a RangeError for what is none. */
export function lz4BlockDecompress(input: Uint8Array, bytesMax: number): Uint8Array {
  const output = new Output(bytesMax, bytesMax);
  decompressBlock(input, output);
  return output.bytes();
}

const MAGIC = 0x184d2204;
const MATCH_LEAST = 4;

/** Bytes that grow, and can be copied from further back. */
class Output {
  private buffer: Uint8Array;
  private length = 0;

  constructor(
    size: number,
    private readonly sizeMax: number,
  ) {
    this.buffer = new Uint8Array(Math.max(size, 64));
  }

  copy(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  repeat(distance: number, count: number): void {
    if (distance === 0 || distance > this.length) throw new RangeError('an LZ4 match begins before the data');
    this.reserve(count);
    const from = this.length - distance;
    if (distance >= count) this.buffer.copyWithin(this.length, from, from + count);
    // A match may reach into what it makes itself.
    else for (let i = 0; i < count; i++) this.buffer[this.length + i] = this.buffer[from + i];
    this.length += count;
  }

  bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  private reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.buffer.length) return;
    if (needed > this.sizeMax) throw new RangeError(`more than ${this.sizeMax} bytes in an LZ4 frame`);
    const larger = new Uint8Array(Math.min(this.sizeMax, Math.max(needed, this.buffer.length * 2)));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}

function decompressBlock(block: Uint8Array, output: Output): void {
  let at = 0;
  const next = (): number => {
    if (at >= block.length) throw new RangeError('an LZ4 block is cut off');
    return block[at++];
  };
  const longer = (length: number): number => {
    let total = length;
    if (length !== 15) return total;
    for (let more = 255; more === 255; total += more) more = next();
    return total;
  };
  while (at < block.length) {
    const token = next();
    const literals = longer(token >> 4);
    if (at + literals > block.length) throw new RangeError('an LZ4 block is cut off');
    output.copy(block.subarray(at, at + literals));
    at += literals;
    // The last sequence is literals only.
    if (at === block.length) return;
    const distance = next() | (next() << 8);
    output.repeat(distance, longer(token & 15) + MATCH_LEAST);
  }
}
