import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * How many bytes may wait in memory for the reader; further bytes wait in a file. Small documents never touch the disk.
 */
export const SPOOL_MEMORY_BYTES = 1024 * 1024;
/** Bytes read from the file at once. */
const READ_BYTES = 64 * 1024;

/**
 * A buffer between a client that sends a file at its own pace and a slower reader. What the reader has not taken yet
 * waits in memory up to {@link SPOOL_MEMORY_BYTES}, and beyond that in a temporary file (in the system's folder for
 * them). One writer and one reader, which may run at the same time.
 */
export class SpooledFile {
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  private file: FileHandle | null = null;
  /** Bytes written to the file, and read from it. While they differ, further bytes are appended to the file. */
  private written = 0;
  private read = 0;
  private isComplete = false;
  private failure: { error: unknown } | null = null;
  private wake: () => void = () => undefined;
  /** The last write to the file; reading and closing wait for it. */
  private writing: Promise<unknown> = Promise.resolve();

  /** Adds a piece; one call at a time. Errors: storage_failed when the disk fails. */
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

  /** No more data will come. */
  complete(): void {
    this.isComplete = true;
    this.wake();
  }

  /** Makes the reader fail with this error at its next step, even if data is still waiting. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.wake();
  }

  /** The pieces in order, as they arrive; may be read once. */
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

  /** Releases memory and file; idempotent. */
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
      // A disk that is nearly full takes a part, and says so by its length only: a gap would be read as zeros.
      for (let at = 0; at < piece.length;)
        at += (await this.file.write(piece, at, piece.length - at, this.written + at)).bytesWritten;
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

/** Opens a file and removes its name, so that it vanishes with the process in any case. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `quiver-upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
