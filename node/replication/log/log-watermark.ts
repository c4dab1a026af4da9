import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { LaterFormatError, mustBeKnownFormat } from '../../engine/files/later-format';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { syncFolder } from '../../../shared/base/files/stable-folder';

/** The file of a shard's mark, in the shard's folder. */
export const WATERMARK_FILE = 'log-mark';

/** What a log has held on stable storage, whatever its store says later. */
export interface WatermarkState {
  /** Its last entry. */
  sequence: number;
  epoch: number;
  promisedEpoch: number;
  lastLedEpoch: number;
}

/**
 * Two slots, written alternately, so that a torn write leaves the previous one. A slot: u32 checksum of what follows,
 * f64 count of writes, f64 sequence, epoch, promised epoch, last led epoch. Each slot is in a block of its own, because
 * disks write whole blocks.
 */
const BLOCK_BYTES = 4096;
const SLOT_BYTES = 44;
/**
 * A slot of a later format goes on with a u32 format, from 1 on, which its checksum covers; what follows may be
 * anything. Slots of this version end before it, so what stands there in them is not looked at.
 */
const FORMAT_AT = SLOT_BYTES;
const LATER_SLOT_BYTES = FORMAT_AT + 4;
const FORMAT = 0;

/**
 * A high-water mark beside a store whose log may silently lose its end: when a write-ahead log is damaged or missing,
 * RocksDB takes that place for its end. The mark is raised before an entry is acknowledged, and lowered before one is
 * removed. So a store that holds less than the mark has lost something. Removing the file accepts the loss.
 */
export class LogWatermark {
  private constructor(
    private readonly file: FileHandle,
    private writes: number,
    /** null: nothing was marked yet. */
    private marked: WatermarkState | null,
  ) {}

  /** Opens the mark at `path`, or makes one. Errors: storage_failed, LaterFormatError. */
  static async open(path: string): Promise<LogWatermark> {
    let file: FileHandle | null = null;
    try {
      file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_DSYNC, 0o644);
      const bytes = Buffer.alloc(2 * BLOCK_BYTES);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      if (bytesRead < bytes.length) {
        // Written in full length once, so that later writes change no length.
        await file.write(bytes, bytesRead, bytes.length - bytesRead, bytesRead);
        await syncFolder(dirname(path));
      }
      const [best] = [0, BLOCK_BYTES]
        .flatMap((at) => slotFromBytes(bytes.subarray(at, at + LATER_SLOT_BYTES)) ?? [])
        .sort((a, b) => b.writes - a.writes);
      return new LogWatermark(file, best?.writes ?? 0, best?.state ?? null);
    } catch (cause) {
      await file?.close();
      if (cause instanceof LaterFormatError) throw cause;
      throw new QuiverError('storage_failed', 'the high-water mark of a log cannot be read', { cause });
    }
  }

  get state(): WatermarkState | null {
    return this.marked;
  }

  /** On stable storage when it resolves. One call at a time. Errors: storage_failed. */
  async write(state: WatermarkState): Promise<void> {
    this.writes += 1;
    const bytes = slotToBytes(this.writes, state);
    try {
      const { bytesWritten } = await this.file.write(bytes, 0, bytes.length, (this.writes % 2) * BLOCK_BYTES);
      if (bytesWritten !== bytes.length) throw new Error(`only ${bytesWritten} bytes written`);
    } catch (cause) {
      throw new QuiverError('storage_failed', 'the high-water mark of a log cannot be written', { cause });
    }
    this.marked = state;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

function slotToBytes(writes: number, { sequence, epoch, promisedEpoch, lastLedEpoch }: WatermarkState): Buffer {
  const bytes = Buffer.alloc(SLOT_BYTES);
  [writes, sequence, epoch, promisedEpoch, lastLedEpoch].forEach((number, i) => bytes.writeDoubleLE(number, 4 + 8 * i));
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/**
 * null: nothing was written here, or it is torn, and then says nothing about its format either. Errors:
 * LaterFormatError.
 */
function slotFromBytes(bytes: Buffer): { writes: number; state: WatermarkState } | null {
  const checksum = bytes.readUInt32LE(0);
  if (checksum !== crc32(bytes.subarray(4, SLOT_BYTES))) {
    if (checksum === crc32(bytes.subarray(4)))
      mustBeKnownFormat(`the high-water mark of a log (${WATERMARK_FILE})`, bytes.readUInt32LE(FORMAT_AT), FORMAT);
    return null;
  }
  const [writes, sequence, epoch, promisedEpoch, lastLedEpoch] = [0, 1, 2, 3, 4].map((i) =>
    bytes.readDoubleLE(4 + 8 * i),
  );
  return { writes, state: { sequence, epoch, promisedEpoch, lastLedEpoch } };
}
