import { crc32 } from 'node:zlib';
import { mustBeKnownFormat } from '../../engine/files/later-format';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { momentOf, operationsVersionOf } from '../../../shared/contract/writes/operation-codec';
import { OPERATIONS_VERSION } from '../../../shared/contract/writes/operation-format';
import type { LogEntry } from '../core/replica-state';

/**
 * A log entry as it is stored; its sequence and epoch are in the key. Little-endian:
 *
 *   u32 checksum of what follows; u8 kind: 1 a write, 2 one with its time, 0 a barrier, which ends here; others are of
 *   later versions
 *   [f64 time,] f64 request number, f64 settled below, u16 bytes of session, session, payload
 */
const WRITE = 1;
const TIMED_WRITE = 2;
const TIME_BYTES = 8;
const HEAD_BYTES = 5;
const SOURCE_BYTES = 18;

export function logEntryToBytes({ write }: LogEntry): Buffer {
  const session = Buffer.from(write?.source.session ?? '');
  const start = HEAD_BYTES + (write?.at === undefined ? 0 : TIME_BYTES);
  const bytes = Buffer.allocUnsafe(
    write === null ? HEAD_BYTES : start + SOURCE_BYTES + session.length + write.payload.length,
  );
  bytes[4] = write === null ? 0 : write.at === undefined ? WRITE : TIMED_WRITE;
  if (write !== null) {
    if (write.at !== undefined) bytes.writeDoubleLE(write.at, HEAD_BYTES);
    bytes.writeDoubleLE(write.source.requestNumber, start);
    bytes.writeDoubleLE(write.source.settledBelow, start + 8);
    bytes.writeUInt16LE(session.length, start + 16);
    session.copy(bytes, start + SOURCE_BYTES);
    write.payload.copy(bytes, start + SOURCE_BYTES + session.length);
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Whether an entry has a time, and its write a moment, by the look of its bytes. */
export function notedInBytes(bytes: Buffer): { time: boolean; moment: boolean } {
  const time = bytes.length > HEAD_BYTES && bytes[4] === TIMED_WRITE;
  const sessionStart = HEAD_BYTES + (time ? TIME_BYTES : 0) + SOURCE_BYTES;
  const moment =
    bytes.length > sessionStart && momentOf(bytes.subarray(sessionStart + bytes.readUInt16LE(sessionStart - 2))) > 0;
  return { time, moment };
}

/**
 * Errors: storage_failed when the bytes are not what was written; LaterFormatError for what this program does not know.
 */
export function logEntryFromBytes(bytes: Buffer, position: { sequence: number; epoch: number }): LogEntry {
  if (bytes.length < HEAD_BYTES || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) {
    throw new QuiverError('storage_failed', `entry ${position.sequence} of the log is damaged`);
  }
  if (bytes[4] === 0) return { ...position, write: null };
  mustBeKnownFormat(`entry ${position.sequence} of the log`, bytes[4], TIMED_WRITE);
  const isTimed = bytes[4] === TIMED_WRITE;
  const start = HEAD_BYTES + (isTimed ? TIME_BYTES : 0);
  const sessionStart = start + SOURCE_BYTES;
  const sessionEnd = sessionStart + bytes.readUInt16LE(start + 16);
  const source = {
    session: bytes.toString('utf8', sessionStart, sessionEnd),
    requestNumber: bytes.readDoubleLE(start),
    settledBelow: bytes.readDoubleLE(start + 8),
  };
  const payload = bytes.subarray(sessionEnd);
  mustBeKnownFormat(
    `the write of entry ${position.sequence} of the log`,
    operationsVersionOf(payload),
    OPERATIONS_VERSION,
  );
  return { ...position, write: { source, payload, ...(isTimed && { at: bytes.readDoubleLE(HEAD_BYTES) }) } };
}
