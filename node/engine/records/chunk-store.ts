import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { ChunkFile, CHUNK_FRAME_BYTES, FRAME_CONTENT_BYTES, framesOf } from './chunk-file';

/**
 * A file takes chunks until it has so many bytes: few files for many items, and little to move when most of one is
 * dead.
 */
const FILE_BYTES = 32 << 20;
/** The chunks of a file of which less is living are worth moving. */
const SPARSE_SHARE = 0.25;

/** A file that chunks are written to, one behind the other. */
interface StoreFile {
  reader: ChunkFile;
  /** -1 once it takes no more chunks. */
  writer: number;
  end: number;
  /** Numbers of its chunks that are not dead, and how many bytes of the file they take. */
  chunks: Set<number>;
  heldBytes: number;
}

/** A chunk on the disk, which never changes. */
export interface StoredChunk {
  readonly number: number;
  readonly file: StoreFile;
  readonly position: number;
  readonly length: number;
}

/**
 * The chunks of a ByteArena that are full, in files of a folder of their own. They are no storage: what they hold is in
 * the records, and each start makes them again. One thread writes and reads them here; others read them by a ChunkFile.
 * A file goes when the last of its chunks is dead.
 */
export class ChunkStore {
  private readonly files = new Set<StoreFile>();
  private current: StoreFile | null = null;
  /** Files that are gone and that a save may still read. */
  private leaving: ChunkFile[] = [];
  private isSaving = false;
  private closed = false;

  private constructor(
    private readonly folder: string,
    private readonly onDamaged: (error: Error) => void,
  ) {}

  /** An empty store; what was in the folder is removed. `onDamaged`: something that was stored can't be read. */
  static async open(folder: string, onDamaged: (error: Error) => void): Promise<ChunkStore> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    return new ChunkStore(folder, onDamaged);
  }

  get diskBytes(): number {
    let bytes = 0;
    for (const { end } of this.files) bytes += end;
    return bytes;
  }

  /** Stores a chunk. Throws what the system says; then nothing is stored. */
  add(number: number, bytes: Buffer): StoredChunk {
    const file = this.current ?? this.begin();
    const position = (file.end / CHUNK_FRAME_BYTES) * FRAME_CONTENT_BYTES;
    const frames = framesOf(bytes);
    for (let done = 0; done < frames.length;)
      done += writeSync(file.writer, frames, done, frames.length - done, file.end + done);
    file.end += frames.length;
    file.chunks.add(number);
    file.heldBytes += frames.length;
    if (file.end >= FILE_BYTES) this.endFile();
    return { number, file, position, length: bytes.length };
  }

  /** As ChunkFile.text. Errors: storage_failed, also where it is not what was stored; unavailable after `close`. */
  text(encoding: BufferEncoding, chunk: StoredChunk, offset: number, length: number): string {
    return this.reading(() => chunk.file.reader.text(encoding, chunk.position + offset, length));
  }

  /** As ChunkFile.read, with the errors of {@link text}. */
  read(chunk: StoredChunk, offset: number, length: number): Buffer {
    return this.reading(() => chunk.file.reader.read(chunk.position + offset, length));
  }

  /** All of a chunk. Errors: as {@link text}. */
  whole(chunk: StoredChunk): Buffer {
    return this.reading(() => chunk.file.reader.readLong(chunk.position, chunk.length));
  }

  /** A chunk is dead. Answers the chunks that are now worth moving, because little else is in their file. */
  free({ number, file, length }: StoredChunk): Iterable<number> {
    file.chunks.delete(number);
    file.heldBytes -= inFrames(length);
    if (file.writer >= 0) return [];
    if (file.chunks.size === 0) this.remove(file);
    return file.heldBytes < file.end * SPARSE_SHARE ? file.chunks : [];
  }

  /** Later chunks go into another file, so that those of now can leave nothing behind. */
  endFile(): void {
    const file = this.current;
    this.current = null;
    if (file === null) return;
    closeSync(file.writer);
    file.writer = -1;
    if (file.chunks.size === 0) this.remove(file);
  }

  /**
   * What is stored now can be read (`whole`) until the answer is called, also if it dies meanwhile. One at a time: the
   * next ends the one before.
   */
  keepForSave(): () => void {
    this.isSaving = true;
    this.closeLeaving();
    const kept = this.leaving;
    return () => {
      if (kept !== this.leaving) return;
      this.isSaving = false;
      this.closeLeaving();
    };
  }

  /** Removes everything; idempotent. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.endFile();
    this.isSaving = false;
    for (const file of this.files) this.remove(file);
    this.closeLeaving();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private begin(): StoreFile {
    // Never the name of one that was there before: another thread may be about to open that.
    const path = join(this.folder, randomBytes(8).toString('hex'));
    this.current = {
      reader: new ChunkFile(path),
      writer: openSync(path, 'wx', 0o600),
      end: 0,
      chunks: new Set(),
      heldBytes: 0,
    };
    this.files.add(this.current);
    return this.current;
  }

  private remove(file: StoreFile): void {
    this.files.delete(file);
    // A save that has not come to it yet opens it now.
    if (this.isSaving) this.reading(() => file.reader.hold());
    rmSync(file.reader.path, { force: true });
    if (this.isSaving) this.leaving.push(file.reader);
    else file.reader.close();
  }

  private closeLeaving(): void {
    for (const reader of this.leaving) reader.close();
    this.leaving = [];
  }

  private reading<Result>(read: () => Result): Result {
    if (this.closed) throw new QuiverError('unavailable', 'the shard is being closed');
    try {
      return read();
    } catch (cause) {
      const error = new QuiverError('storage_failed', 'metadata could not be read from the disk', { cause });
      this.onDamaged(error);
      throw error;
    }
  }
}

/** The bytes that a chunk of this length takes in its file. */
function inFrames(length: number): number {
  return Math.ceil(length / FRAME_CONTENT_BYTES) * CHUNK_FRAME_BYTES;
}
