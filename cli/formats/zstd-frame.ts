/**
 * What the head of a Zstandard frame says, and where the frame ends. A frame that is skipped has a window and content
 * of 0.
 */
export interface ZstdFrame {
  windowBytes: number;
  /** null: it does not say. */
  contentBytes: number | null;
  /** Bytes of the whole frame. */
  end: number;
}

interface FrameHead extends Omit<ZstdFrame, 'end'> {
  headBytes: number;
  /** Behind the blocks. */
  checksumBytes: number;
  /** Of a frame that is skipped: its content, which has no blocks. */
  skippedBytes: number | null;
}

const MAGIC = 0xfd2fb528;
const SKIPPED_MAGIC = 0x184d2a5;
/** Longest head of a frame. */
const HEAD_BYTES_MAX = 18;
const BLOCK_HEAD_BYTES = 3;
const RUN_LENGTH_BLOCK = 1;
/** Whoever decompresses needs so much memory; the zstd program refuses more as well, unless it is told otherwise. */
const WINDOW_BYTES_MAX = 128 << 20;

/** Throws a RangeError for a frame that needs more memory than any sensible one. */
export function checkZstdWindow({ windowBytes }: Pick<ZstdFrame, 'windowBytes'>): void {
  if (windowBytes > WINDOW_BYTES_MAX)
    throw new RangeError(
      `a Zstandard frame needs a window of ${windowBytes} bytes; at most ${WINDOW_BYTES_MAX} are given`,
    );
}

/**
 * The first frame of these bytes, after https://datatracker.ietf.org/doc/html/rfc8878#section-3.1.1. Nothing is
 * decompressed. Throws a RangeError when they are none, or are cut off.
 */
export function zstdFrame(bytes: Uint8Array): ZstdFrame {
  const head = headOf(bytes);
  if (head === null) throw new RangeError('a Zstandard frame is cut off');
  const { windowBytes, contentBytes, headBytes, checksumBytes, skippedBytes } = head;
  let at = headBytes + (skippedBytes ?? 0);
  if (skippedBytes === null) {
    for (let isLast = false; !isLast;) {
      if (at + BLOCK_HEAD_BYTES > bytes.length) throw new RangeError('a Zstandard frame is cut off');
      const block = blockOf(bytes, at);
      at += BLOCK_HEAD_BYTES + block.bytes;
      isLast = block.isLast;
    }
    at += checksumBytes;
  }
  if (at > bytes.length) throw new RangeError('a Zstandard frame is cut off');
  return { windowBytes, contentBytes, end: at };
}

/** Looks at the frames of bytes that come in pieces, before they are decompressed. */
export class ZstdFrameCheck {
  /** The beginning of a head that is not there whole. */
  private held = new Uint8Array(0);
  private left = 0;
  private state: 'frame' | 'block' | 'content' | 'end' = 'frame';
  private checksumBytes = 0;
  private isLastBlock = false;

  /** Throws a RangeError for what is no frame, or one whose window is too large. */
  push(piece: Uint8Array): void {
    let bytes: Uint8Array = piece;
    if (this.held.length > 0) {
      bytes = new Uint8Array(this.held.length + piece.length);
      bytes.set(this.held);
      bytes.set(piece, this.held.length);
    }
    const used = this.advance(bytes);
    this.held = bytes.slice(used);
  }

  /** Goes on as far as the bytes tell; answers how many were used. */
  private advance(bytes: Uint8Array): number {
    for (let at = 0; ;) {
      if (this.state === 'content' || this.state === 'end') {
        const step = Math.min(this.left, bytes.length - at);
        at += step;
        this.left -= step;
        if (this.left > 0) return at;
        if (this.state === 'content' && this.isLastBlock) [this.state, this.left] = ['end', this.checksumBytes];
        else this.state = this.state === 'end' ? 'frame' : 'block';
      } else if (this.state === 'frame') {
        const head = headOf(bytes.subarray(at));
        if (head === null) return at;
        checkZstdWindow(head);
        at += head.headBytes;
        this.checksumBytes = head.checksumBytes;
        this.isLastBlock = false;
        [this.state, this.left] = head.skippedBytes === null ? ['block', 0] : ['end', head.skippedBytes];
      } else {
        if (at + BLOCK_HEAD_BYTES > bytes.length) return at;
        const block = blockOf(bytes, at);
        at += BLOCK_HEAD_BYTES;
        this.isLastBlock = block.isLast;
        [this.state, this.left] = ['content', block.bytes];
      }
    }
  }
}

/** null: more bytes are needed. Throws a RangeError when they begin no frame. */
function headOf(bytes: Uint8Array): FrameHead | null {
  if (bytes.length < 4) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = view.getUint32(0, true);
  if (magic >>> 4 === SKIPPED_MAGIC) {
    return bytes.length < 8
      ? null
      : { windowBytes: 0, contentBytes: 0, headBytes: 8, checksumBytes: 0, skippedBytes: view.getUint32(4, true) };
  }
  if (magic !== MAGIC) throw new RangeError('no Zstandard frame');
  if (bytes.length < 5) return null;
  const flags = bytes[4];
  const isSingle = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3];
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6];
  const sizeAt = 5 + (isSingle ? 0 : 1) + dictionaryBytes;
  const headBytes = sizeAt + sizeBytes;
  if (bytes.length < headBytes) {
    if (bytes.length >= HEAD_BYTES_MAX) throw new RangeError('no Zstandard frame');
    return null;
  }
  let contentBytes: number | null = null;
  if (sizeBytes === 1) contentBytes = bytes[sizeAt];
  else if (sizeBytes === 2) contentBytes = view.getUint16(sizeAt, true) + 256;
  else if (sizeBytes === 4) contentBytes = view.getUint32(sizeAt, true);
  else if (sizeBytes === 8) contentBytes = Number(view.getBigUint64(sizeAt, true));
  const base = 2 ** (10 + (bytes[5] >> 3));
  const windowBytes = isSingle ? (contentBytes ?? 0) : base + (base / 8) * (bytes[5] & 7);
  return { windowBytes, contentBytes, headBytes, checksumBytes: (flags & 0x04) !== 0 ? 4 : 0, skippedBytes: null };
}

function blockOf(bytes: Uint8Array, at: number): { bytes: number; isLast: boolean } {
  const head = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
  return { bytes: ((head >> 1) & 3) === RUN_LENGTH_BLOCK ? 1 : head >> 3, isLast: (head & 1) === 1 };
}
