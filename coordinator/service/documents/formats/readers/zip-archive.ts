import { constants, inflateRawSync } from 'node:zlib';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { brokenFile } from '../parser-limits';

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const COMMENT_MAX = 0xffff;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;
/** A document has some dozens, and one for each picture. */
const ENTRIES_MAX = 20_000;

interface ZipEntry {
  method: number;
  flags: number;
  compressed: number;
  offset: number;
}

/**
 * The files of a ZIP archive in memory, by its directory at the end. What a file says of its own length is not
 * believed: no more is inflated than asked for. Errors: invalid_parameter where it is no archive.
 */
export class ZipArchive {
  private readonly entries = new Map<string, ZipEntry>();

  constructor(private readonly bytes: Buffer) {
    const end = endOf(bytes);
    const count = bytes.readUInt16LE(end + 10);
    let at = bytes.readUInt32LE(end + 16);
    if (count > ENTRIES_MAX) throw broken('it has too many parts');
    for (let i = 0; i < count; i++) {
      if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE)
        throw broken('its directory is cut off');
      const nameBytes = bytes.readUInt16LE(at + 28);
      this.entries.set(bytes.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes), {
        flags: bytes.readUInt16LE(at + 8),
        method: bytes.readUInt16LE(at + 10),
        compressed: bytes.readUInt32LE(at + 20),
        offset: bytes.readUInt32LE(at + 42),
      });
      at += ENTRY_BYTES + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    }
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /**
   * A file's content; null: there is none of that name. Errors: limit_exceeded where it has more than `most` bytes;
   * invalid_parameter where it is damaged or encrypted.
   */
  read(name: string, most: number): Buffer | null {
    const entry = this.entries.get(name);
    if (entry === undefined) return null;
    const { bytes } = this;
    const { offset } = entry;
    if ((entry.flags & ENCRYPTED) !== 0) throw broken('it has a password; save it without one');
    if (offset + LOCAL_BYTES > bytes.length || bytes.readUInt32LE(offset) !== LOCAL_SIGNATURE)
      throw broken(`${name} in it is damaged`);
    const from = offset + LOCAL_BYTES + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
    const content = bytes.subarray(from, from + entry.compressed);
    if (content.length < entry.compressed) throw broken(`${name} in it is cut off`);
    if (entry.method === STORED) {
      if (content.length > most) throw tooLarge(name, most);
      return content;
    }
    if (entry.method !== DEFLATED) throw broken(`${name} in it is compressed by another method than Deflate`);
    try {
      return inflateRawSync(content, { maxOutputLength: most, finishFlush: constants.Z_FINISH });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(name, most);
      throw broken(`${name} in it is damaged`);
    }
  }
}

/** Where the record of the end begins; a comment may follow it. */
function endOf(bytes: Buffer): number {
  const least = Math.max(0, bytes.length - END_BYTES - COMMENT_MAX);
  for (let at = bytes.length - END_BYTES; at >= least; at--) if (bytes.readUInt32LE(at) === END_SIGNATURE) return at;
  throw broken('it is cut off, or no ZIP archive');
}

function broken(why: string): QuiverError {
  return brokenFile('DOCX', why);
}

function tooLarge(name: string, most: number): QuiverError {
  return new QuiverError('limit_exceeded', `${name} in the file has more than ${most} bytes when it is unpacked`);
}
