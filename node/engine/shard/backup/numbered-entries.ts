/** Entries of an object of a backup: f64 number, u32 bytes, value; in little-endian order. */
export interface NumberedEntry {
  number: number;
  value: Buffer;
}

const HEAD_BYTES = 12;

/** Gathers entries. */
export class EntryBuffer {
  private parts: Buffer[] = [];
  bytes = 0;
  count = 0;
  first = 0;
  last = 0;

  add(number: number, value: Buffer): void {
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    head.writeDoubleLE(number, 0);
    head.writeUInt32LE(value.length, 8);
    this.parts.push(head, value);
    this.bytes += HEAD_BYTES + value.length;
    if (this.count === 0) this.first = number;
    this.last = number;
    this.count += 1;
  }

  /** What was gathered; it is empty then. */
  take(): Buffer {
    const bytes = Buffer.concat(this.parts, this.bytes);
    this.parts = [];
    this.bytes = 0;
    this.count = 0;
    return bytes;
  }
}

/** Errors: those of malformed bytes, as a plain Error. */
export function* entriesIn(bytes: Buffer): Generator<NumberedEntry> {
  for (let at = 0; at < bytes.length;) {
    if (at + HEAD_BYTES > bytes.length) throw new Error('an entry is cut');
    const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 8);
    if (end > bytes.length) throw new Error('an entry is cut');
    yield { number: bytes.readDoubleLE(at), value: bytes.subarray(at + HEAD_BYTES, end) };
    at = end;
  }
}
