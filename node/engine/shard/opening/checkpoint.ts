import { readdirSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { readSmallFiles, SMALL_FILE_BYTES } from '../../kv/small-files';
import { syncFolder } from '../../../../shared/base/files/stable-folder';

/** After this long, a write step pauses so that the event loop can do other work. */
const SLICE_MS = 8;
/** Small chunks are joined, and large ones cut, to about this size before they are written. */
const WRITE_BYTES = 1 << 20;
/** Files are read in steps of this size: one call reads at most 2 GiB, and checking a step must not take long. */
const READ_BYTES = 16 << 20;
/** Buffers in one writev (IOV_MAX is 1024). */
const PIECES_MAX = 1000;

const MANIFEST_FORMAT = 1;
const MANIFEST_NAME = 'MANIFEST.json';

/** A shard that never had more batches does without a checkpoint for now. */
export const FEW_OPERATIONS = 64;

/** Names of the files of a checkpoint. */
export const CHECKPOINT_FILES = ['directory', 'filters', 'keywords'] as const;
export type CheckpointFile = (typeof CHECKPOINT_FILES)[number];

/** What a checkpoint consists of. Written last, so that it names only what is complete and on stable storage. */
export interface Manifest {
  /** Every operation up to and including this one is in the files; later ones may be, in part. */
  operation: number;
  /** Highest record number given out. */
  lastRecno: number;
  /** The folder of the files, `checkpoint-<number>`. */
  number: number;
  files: Record<CheckpointFile, { bytes: number; crc: number }>;
  /** Name of the vector index's own save. */
  vectors: string;
  /**
   * Wall time when it was written, milliseconds since the Unix epoch, for operators. Absent in manifests of earlier
   * versions.
   */
  writtenAtMs?: number;
}

/** Reads the manifest of a shard's folder; null if there is none. Rejects if it is damaged. */
export async function readManifest(folder: string): Promise<Manifest | null> {
  const [text] = await readSmallFiles([join(folder, MANIFEST_NAME)]);
  if (text === null) return null;
  const { format, crc, manifest } = JSON.parse(text.toString()) as {
    format: number;
    crc: number;
    manifest: Manifest | undefined;
  };
  if (format !== MANIFEST_FORMAT)
    throw new Error(`${MANIFEST_NAME} has format ${format}, and this program knows ${MANIFEST_FORMAT}`);
  if (manifest === undefined || crc !== checksumOf(manifest)) throw new Error('manifest: wrong checksum');
  return manifest;
}

/** Without it, the indexes are made again from the records. */
export async function removeManifest(folder: string): Promise<void> {
  await rm(join(folder, MANIFEST_NAME), { force: true });
}

/** Contents of the small files of a checkpoint, as they are; null for one that is not there. */
export type SmallCheckpointFiles = ReadonlyMap<CheckpointFile, Buffer | null>;

/**
 * Those of its files that are small, read in one turn. Empty where one of them can't be read so: each is then met by
 * itself. Never rejects.
 */
export async function readSmallCheckpointFiles(folder: string, manifest: Manifest): Promise<SmallCheckpointFiles> {
  const names = CHECKPOINT_FILES.filter((name) => manifest.files[name].bytes <= SMALL_FILE_BYTES);
  const paths = names.map((name) => join(folder, checkpointFolder(manifest.number), name));
  const contents = names.length === 0 ? [] : await readSmallFiles(paths).catch(() => []);
  return new Map(contents.map((content, i) => [names[i], content]));
}

/** The checked bytes of one file of a checkpoint. Rejects if it is missing, torn or altered. */
export async function readCheckpointFile(
  folder: string,
  manifest: Manifest,
  name: CheckpointFile,
  small: SmallCheckpointFiles,
): Promise<Buffer> {
  const { bytes, crc } = manifest.files[name];
  if (bytes <= SMALL_FILE_BYTES) {
    const content = await smallCheckpointFile(folder, manifest, name, small);
    if (crc32(content) !== crc) throw new Error(`${name}: wrong checksum`);
    return content;
  }
  const file = await open(join(folder, checkpointFolder(manifest.number), name), 'r');
  try {
    const { size } = await file.stat();
    if (size !== bytes) throw new Error(`${name}: ${size} bytes instead of ${bytes}`);
    const content = Buffer.allocUnsafeSlow(bytes);
    let found = 0;
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await file.read(content, at, Math.min(READ_BYTES, bytes - at), at);
      if (bytesRead === 0) throw new Error(`${name}: ends early`);
      found = crc32(content.subarray(at, at + bytesRead), found);
      at += bytesRead;
    }
    if (found !== crc) throw new Error(`${name}: wrong checksum`);
    return content;
  } finally {
    await file.close();
  }
}

/** Its bytes, which are as many as were written; not compared with their checksum. */
async function smallCheckpointFile(
  folder: string,
  manifest: Manifest,
  name: CheckpointFile,
  small: SmallCheckpointFiles,
): Promise<Buffer> {
  const { bytes } = manifest.files[name];
  const content = small.has(name)
    ? small.get(name)
    : (await readSmallFiles([join(folder, checkpointFolder(manifest.number), name)]))[0];
  if (content?.length === bytes) return content;
  throw new Error(
    content === null || content === undefined
      ? `${name} is missing`
      : `${name}: ${content.length} bytes instead of ${bytes}`,
  );
}

/**
 * One file of a checkpoint, read in its order and in little memory. What it has said holds once `finish` has resolved.
 */
export class CheckpointReader {
  private pending: Buffer = Buffer.alloc(0);
  private at = 0;
  private found = 0;

  private constructor(
    /** null: all that is left of it is pending. */
    private readonly file: FileHandle | null,
    private readonly name: CheckpointFile,
    private readonly written: { bytes: number; crc: number },
  ) {}

  /** Rejects if the file is missing, or of another size. */
  static async open(
    folder: string,
    manifest: Manifest,
    name: CheckpointFile,
    small: SmallCheckpointFiles,
  ): Promise<CheckpointReader> {
    const written = manifest.files[name];
    if (written.bytes <= SMALL_FILE_BYTES) {
      const reader = new CheckpointReader(null, name, written);
      reader.pending = await smallCheckpointFile(folder, manifest, name, small);
      reader.found = crc32(reader.pending);
      reader.at = written.bytes;
      return reader;
    }
    const file = await open(join(folder, checkpointFolder(manifest.number), name), 'r');
    const { size } = await file.stat();
    if (size === written.bytes) return new CheckpointReader(file, name, written);
    await file.close();
    throw new Error(`${name}: ${size} bytes instead of ${written.bytes}`);
  }

  get size(): number {
    return this.written.bytes;
  }

  /** The next `length` bytes, until the next call. Rejects where the file ends before them. */
  take(length: number): Buffer | Promise<Buffer> {
    if (length > this.pending.length) return this.fill(length).then(() => this.take(length));
    const taken = this.pending.subarray(0, length);
    this.pending = this.pending.subarray(length);
    return taken;
  }

  /** Rejects if what was read is not what was written. All of it must have been taken. */
  finish(): void {
    if (this.found !== this.written.crc) throw new Error(`${this.name}: wrong checksum`);
  }

  async close(): Promise<void> {
    await this.file?.close();
  }

  private async fill(length: number): Promise<void> {
    const rest = this.pending;
    if (this.file === null) throw new Error(`${this.name}: ends early`);
    const content = Buffer.allocUnsafeSlow(Math.max(length, Math.min(WRITE_BYTES, rest.length + this.size - this.at)));
    rest.copy(content);
    for (let filled = rest.length; filled < content.length;) {
      const { bytesRead } = await this.file.read(content, filled, content.length - filled, this.at);
      if (bytesRead === 0) throw new Error(`${this.name}: ends early`);
      this.found = crc32(content.subarray(filled, filled + bytesRead), this.found);
      filled += bytesRead;
      this.at += bytesRead;
    }
    this.pending = content;
  }
}

/** Writes one file of checkpoint `number` in slices; on stable storage when it resolves. */
export async function writeCheckpointFile(
  folder: string,
  number: number,
  name: CheckpointFile,
  chunks: Iterable<Buffer>,
): Promise<{ bytes: number; crc: number }> {
  const target = join(folder, checkpointFolder(number));
  await mkdir(target, { recursive: true });
  const file = await open(join(target, name), 'w');
  try {
    let bytes = 0;
    let crc = 0;
    let pending: Buffer[] = [];
    let pendingBytes = 0;
    let sliceStart = performance.now();
    const flush = async (): Promise<void> => {
      for (const piece of pending) crc = crc32(piece, crc);
      const { bytesWritten } = await file.writev(pending);
      if (bytesWritten !== pendingBytes)
        throw new Error(`${name}: only ${bytesWritten} of ${pendingBytes} bytes could be written`);
      bytes += pendingBytes;
      pending = [];
      pendingBytes = 0;
      sliceStart = performance.now();
    };
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += WRITE_BYTES) {
        const piece = chunk.subarray(at, at + WRITE_BYTES);
        pending.push(piece);
        pendingBytes += piece.length;
        if (pendingBytes >= WRITE_BYTES || pending.length >= PIECES_MAX) await flush();
      }
      if (performance.now() - sliceStart > SLICE_MS) {
        await new Promise((resume) => setImmediate(resume));
        sliceStart = performance.now();
      }
    }
    if (pending.length > 0) await flush();
    await file.sync();
    return { bytes, crc };
  } finally {
    await file.close();
  }
}

/** Puts the manifest in force, atomically and durably. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await syncFolder(join(folder, checkpointFolder(manifest.number)));
  const aside = join(folder, `${MANIFEST_NAME}.new`);
  const file = await open(aside, 'w');
  try {
    await file.writeFile(JSON.stringify({ format: MANIFEST_FORMAT, crc: checksumOf(manifest), manifest }));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(aside, join(folder, MANIFEST_NAME));
  await syncFolder(folder);
}

/**
 * Removes a failed attempt, unless the manifest names it: if only the last sync failed, either it or the previous one
 * may be in force after a crash. Answers that manifest, null if there is none. Rejects if that can't be determined.
 */
export async function removeCheckpoint(folder: string, number: number): Promise<Manifest | null> {
  const manifest = await readManifest(folder);
  if (manifest?.number === number) return manifest;
  await rm(join(folder, checkpointFolder(number)), { recursive: true, force: true });
  await rm(join(folder, `${MANIFEST_NAME}.new`), { force: true });
  return manifest;
}

/** Removes the folders of every checkpoint except `number` (null: all): older ones and torn attempts. */
export async function removeOtherCheckpoints(folder: string, number: number | null): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (/^checkpoint-\d+$/.test(name) && (number === null || name !== checkpointFolder(number))) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}

function checksumOf(manifest: Manifest): number {
  return crc32(Buffer.from(JSON.stringify(manifest)));
}

function checkpointFolder(number: number): string {
  return `checkpoint-${number}`;
}
