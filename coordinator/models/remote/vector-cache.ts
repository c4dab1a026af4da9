import { createHash } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { float32FromBytes } from '../../../shared/contract/vector/float32-bytes';

/**
 * A file of vectors by digests of what they were made of, at most so long as it is told. It is a table of buckets of
 * some slots, and the digest says the bucket; so it needs no memory and no reading at a start, and a full bucket loses
 * one of its vectors for a new one.
 *
 *     header: "QVC1", dim, buckets, crc32 of these      (HEADER_BYTES)
 *     slot:   digest (32), vector (dim × float32), crc32 of both
 *
 * All numbers little-endian. What is damaged is not there, and so is what another process is writing.
 */
const MAGIC = 0x31435651;
const HEADER_BYTES = 16;
const DIGEST_BYTES = 32;
const CRC_BYTES = 4;
const FLOAT_BYTES = 4;
/** Slots of a bucket. */
const WAYS = 4;
/** Vectors that wait to be written; more are not kept. */
const WAITING_MAX = 4096;

/** Of a text as it is sent. */
export function vectorDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export class VectorCache {
  private buckets = 0;
  private knownDim = 0;
  private writing: Promise<void> = Promise.resolve();
  private waiting = 0;
  private isClosed = false;

  private constructor(
    private readonly file: FileHandle,
    private readonly bytesMax: number,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** What is there stays, if it is whole and of that length. Errors: those of the file system. */
  static async open(options: {
    path: string;
    bytesMax: number;
    onError: (error: unknown) => void;
  }): Promise<VectorCache> {
    await mkdir(dirname(options.path), { recursive: true });
    const file = await open(options.path, 'a+', 0o600).then(async (made) => {
      await made.close();
      return open(options.path, 'r+');
    });
    const cache = new VectorCache(file, options.bytesMax, options.onError);
    await cache.readHeader();
    return cache;
  }

  /** Of its vectors; 0: there are none yet. */
  get dim(): number {
    return this.knownDim;
  }

  /** null: it is not there. */
  async get(digest: Buffer): Promise<Float32Array | null> {
    if (this.buckets === 0 || this.isClosed) return null;
    try {
      return this.found(await this.bucketOf(digest), digest);
    } catch (error) {
      this.onError(error);
      return null;
    }
  }

  /** Keeps a vector, some time after. */
  put(digest: Buffer, vector: Float32Array): void {
    if (this.isClosed || this.waiting >= WAITING_MAX) return;
    this.waiting += 1;
    this.writing = this.writing
      .then(() => this.write(digest, vector))
      .catch((error: unknown) => this.onError(error))
      .finally(() => (this.waiting -= 1));
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    await this.written();
    this.isClosed = true;
    await this.file.close();
  }

  /** Resolves when all that was put is written. */
  async written(): Promise<void> {
    await this.writing;
  }

  private get slotBytes(): number {
    return DIGEST_BYTES + this.knownDim * FLOAT_BYTES + CRC_BYTES;
  }

  private async readHeader(): Promise<void> {
    const header = Buffer.alloc(HEADER_BYTES);
    const { bytesRead } = await this.file.read(header, 0, HEADER_BYTES, 0);
    const [magic, dim, buckets, crc] = [0, 4, 8, 12].map((at) => header.readUInt32LE(at));
    if (bytesRead < HEADER_BYTES || magic !== MAGIC || crc !== crc32(header.subarray(0, 12))) return;
    if (dim === 0 || buckets !== this.bucketsFor(dim)) return;
    [this.knownDim, this.buckets] = [dim, buckets];
  }

  /** How many fit; at least one, so that the file may be longer than it is told to be by three vectors. */
  private bucketsFor(dim: number): number {
    const bytes = WAYS * (DIGEST_BYTES + dim * FLOAT_BYTES + CRC_BYTES);
    return Math.max(1, Math.floor((this.bytesMax - HEADER_BYTES) / bytes));
  }

  /** Begins the table anew for vectors of that length. */
  private async begin(dim: number): Promise<void> {
    await this.file.truncate(0);
    const header = Buffer.alloc(HEADER_BYTES);
    const buckets = this.bucketsFor(dim);
    [MAGIC, dim, buckets].forEach((value, i) => header.writeUInt32LE(value, i * 4));
    header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
    await this.file.write(header, 0, HEADER_BYTES, 0);
    [this.knownDim, this.buckets] = [dim, buckets];
  }

  private placeOf(digest: Buffer): number {
    return HEADER_BYTES + (digest.readUIntBE(0, 6) % this.buckets) * WAYS * this.slotBytes;
  }

  /** Its bytes; what lies behind the end of the file is zero. */
  private async bucketOf(digest: Buffer): Promise<Buffer> {
    const bytes = Buffer.alloc(WAYS * this.slotBytes);
    await this.file.read(bytes, 0, bytes.length, this.placeOf(digest));
    return bytes;
  }

  private slotIn(bucket: Buffer, way: number): Buffer {
    return bucket.subarray(way * this.slotBytes, (way + 1) * this.slotBytes);
  }

  private found(bucket: Buffer, digest: Buffer): Float32Array | null {
    for (let way = 0; way < WAYS; way++) {
      const slot = this.slotIn(bucket, way);
      if (slot.compare(digest, 0, DIGEST_BYTES, 0, DIGEST_BYTES) !== 0) continue;
      const end = slot.length - CRC_BYTES;
      if (crc32(slot.subarray(0, end)) === slot.readUInt32LE(end))
        return float32FromBytes(slot.subarray(DIGEST_BYTES, end));
    }
    return null;
  }

  private async write(digest: Buffer, vector: Float32Array): Promise<void> {
    if (this.knownDim !== vector.length) await this.begin(vector.length);
    const bucket = await this.bucketOf(digest);
    if (this.found(bucket, digest) !== null) return;
    const ways = Array.from({ length: WAYS }, (_, way) => way);
    const isOwn = (way: number): boolean =>
      this.slotIn(bucket, way).compare(digest, 0, DIGEST_BYTES, 0, DIGEST_BYTES) === 0;
    const isFree = (way: number): boolean => this.slotIn(bucket, way).readUInt32LE(this.slotBytes - CRC_BYTES) === 0;
    // By what the digest did not choose the bucket.
    const way = ways.find(isOwn) ?? ways.find(isFree) ?? digest[DIGEST_BYTES - 1] % WAYS;
    const slot = this.slotIn(bucket, way);
    digest.copy(slot);
    Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).copy(slot, DIGEST_BYTES);
    slot.writeUInt32LE(crc32(slot.subarray(0, slot.length - CRC_BYTES)), slot.length - CRC_BYTES);
    await this.file.write(slot, 0, slot.length, this.placeOf(digest) + way * this.slotBytes);
  }
}
