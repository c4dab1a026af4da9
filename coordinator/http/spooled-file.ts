import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';

/** Bytes that wait in memory for their reader; what comes beyond waits in a file. Small documents never touch the disk. */
export const SPOOL_MEMORY_BYTES = 1024 * 1024;
/** Read from the file at once. */
const READ_BYTES = 64 * 1024;

/**
 * A file between a client that sends it at its own pace and a reader that takes longer: what the reader has not taken
 * yet waits in memory up to {@link SPOOL_MEMORY_BYTES}, and in a temporary file (of the system's folder for them) beyond.
 * One writer and one reader, which may run at once.
 */
export class SpooledFile {
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  private file: FileHandle | null = null;
  /** Bytes of the file that were written, and read; while they differ, what arrives goes behind them. */
  private written = 0;
  private read = 0;
  private isComplete = false;
  private failure: { error: unknown } | null = null;
  private wake: () => void = () => undefined;
  /** Of the file; reading and closing wait for it. */
  private writing: Promise<unknown> = Promise.resolve();

  /** Adds a piece; one call at a time. Errors: storage_failed when the disk does not take it. */
  async append(piece: Buffer): Promise<void> {
    if (this.failure !== null) return;
    if (this.read === this.written && this.waitingBytes + piece.length <= SPOOL_MEMORY_BYTES) {
      this.waiting.push(piece);
      this.waitingBytes += piece.length;
    } else {
      this.writing = this.appendToFile(piece);
      await this.writing;
    }
    this.wake();
  }

  /** Nothing more comes. */
  complete(): void {
    this.isComplete = true;
    this.wake();
  }

  /** The reader fails with this error at its next step, whatever is still waiting. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.wake();
  }

  /** The pieces in order, as they come; to be read once. */
  async *content(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.failure !== null) throw this.failure.error;
      const piece = this.waiting.shift();
      if (piece !== undefined) {
        this.waitingBytes -= piece.length;
        yield piece;
      } else if (this.read < this.written) {
        yield await this.readFromFile();
      } else if (this.isComplete) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    }
  }

  /** Gives up what is held; idempotent. */
  async close(): Promise<void> {
    this.fail(new Error('the spool is closed'));
    this.waiting.length = 0;
    await this.writing.catch(() => undefined);
    const { file } = this;
    this.file = null;
    await file?.close();
  }

  private async appendToFile(piece: Buffer): Promise<void> {
    try {
      this.file ??= await openNameless();
      await this.file.write(piece, 0, piece.length, this.written);
    } catch (cause) {
      throw new QuiverError('storage_failed', 'the document could not be held on disk until its turn', { cause });
    }
    this.written += piece.length;
  }

  private async readFromFile(): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.written - this.read));
    const { bytesRead } = await (this.file as FileHandle).read(buffer, 0, buffer.length, this.read);
    if (bytesRead === 0) throw new QuiverError('storage_failed', 'the document could not be read back from the disk');
    this.read += bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}

/** A file that has no name any more, so that it is gone with the process whatever happens. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `quiver-upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
