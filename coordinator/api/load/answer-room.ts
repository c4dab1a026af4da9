import type { BodyScannerAddon } from '../native/body-scanner';

/** Answers of more bytes are made in the usual way. */
const ROOM_BYTES = 256 * 1024;
/** For the head, which is known when the body is, and stands before it. */
const HEAD_BYTES = 2 * 1024;

/**
 * Where a thread writes answers that are sent at once, one after the other: a string for each of their parts would take
 * more of a search's time, and far more memory, than these bytes.
 */
export class AnswerRoom {
  private readonly memory = Buffer.allocUnsafeSlow(ROOM_BYTES);
  private from = HEAD_BYTES;
  private to = HEAD_BYTES;

  constructor(private readonly addon: Pick<BodyScannerAddon, 'writeHits' | 'sendNow'>) {}

  /** Writes a body with hits (utf8HitsOf) as a JSON array between two texts. False: it has no room. */
  write(before: string, hits: Buffer, behind: string): boolean {
    const { memory } = this;
    this.from = HEAD_BYTES;
    if (before.length + hits.length + behind.length > ROOM_BYTES / 4) return false;
    const end = this.addon.writeHits(hits, memory, HEAD_BYTES + memory.write(before, HEAD_BYTES));
    // A character takes three bytes at most.
    if (end === 0 || ROOM_BYTES - end < 3 * behind.length) return false;
    this.to = end + memory.write(behind, end);
    return true;
  }

  /** Bytes of the body. */
  get length(): number {
    return this.to - HEAD_BYTES;
  }

  /** Puts a head before the body, of characters of one byte. False: it has no room. */
  writeHead(head: string): boolean {
    if (head.length > HEAD_BYTES) return false;
    this.from = HEAD_BYTES - head.length;
    this.memory.write(head, this.from, 'latin1');
    return true;
  }

  /** Gives head and body to an open connection, and answers how many bytes of them it has not taken. */
  sendNow(handle: number): number {
    return this.to - this.from - this.addon.sendNow(handle, this.memory, this.from, this.to);
  }

  /** A copy of the last `bytes`; by default, of all. */
  copy(bytes = this.to - this.from): Buffer {
    return Buffer.from(this.memory.subarray(this.to - bytes, this.to));
  }
}
