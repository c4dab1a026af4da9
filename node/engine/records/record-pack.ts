import { HEAD_BYTES } from '../kv/packed-entries';
import { type ItemRecord, recordRoom, writeRecord } from './record-codec';
import { NUMBERED_KEY_BYTES, orderKeyBytes, writeItemKey, writeOrderKey } from './record-keys';

const ORDER_VALUE_BYTES = 8;
const ROUNDED_BYTES = 256 * 1024;
/** Memory that was used last, for the next batch: fresh memory costs about as much as what is written to it. */
let spare = new WeakRef(new ArrayBuffer(0));

/**
 * Records and their places in the insertion order as packed entries (packed-entries.ts), without an object for each:
 * those lived until the batch was written, and the collector had to look through and move all of them.
 */
export class RecordPack {
  private bytes: Buffer;
  private end = 0;

  /** `room`: bytes that it will about take. */
  constructor(room: number) {
    const memory = spare.deref();
    spare = new WeakRef(new ArrayBuffer(0));
    this.bytes = memory !== undefined && memory.byteLength >= room ? Buffer.from(memory) : freshBytes(room);
  }

  addRecord(recno: number, record: ItemRecord): void {
    this.reserve(HEAD_BYTES + NUMBERED_KEY_BYTES + recordRoom(record));
    const { bytes, end } = this;
    const valueAt = end + HEAD_BYTES + NUMBERED_KEY_BYTES;
    writeItemKey(recno, bytes, end + HEAD_BYTES);
    this.finish(NUMBERED_KEY_BYTES, writeRecord(record, bytes, valueAt));
  }

  addOrder({ stamp, externalId, recno }: { stamp: number; externalId: string; recno: number }): void {
    const keyBytes = orderKeyBytes(externalId);
    this.reserve(HEAD_BYTES + keyBytes + ORDER_VALUE_BYTES);
    writeOrderKey(stamp, externalId, this.bytes, this.end + HEAD_BYTES);
    this.bytes.writeDoubleLE(recno, this.end + HEAD_BYTES + keyBytes);
    this.finish(keyBytes, ORDER_VALUE_BYTES);
  }

  /** What was added; it is the pack's memory. */
  get entries(): Buffer {
    return this.bytes.subarray(0, this.end);
  }

  /** Nobody reads the entries any more, and nothing is added. */
  free(): void {
    spare = new WeakRef(this.bytes.buffer as ArrayBuffer);
  }

  private finish(keyBytes: number, valueBytes: number): void {
    this.bytes.writeUInt32LE(keyBytes, this.end);
    this.bytes.writeUInt32LE(valueBytes, this.end + 4);
    this.end += HEAD_BYTES + keyBytes + valueBytes;
  }

  private reserve(more: number): void {
    if (this.end + more <= this.bytes.length) return;
    const bytes = freshBytes(Math.max(this.end + more, this.bytes.length * 2));
    bytes.set(this.bytes.subarray(0, this.end));
    this.bytes = bytes;
  }
}

function freshBytes(least: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.ceil(least / ROUNDED_BYTES) * ROUNDED_BYTES);
}
