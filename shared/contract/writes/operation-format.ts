import { QuiverError } from '../../base/errors/quiver-error';

/**
 * The operations of one write as bytes, for the wire and for the replicated log. Written under TIMED_VERSION, or under
 * DATED_VERSION where everybody knows it; earlier ones are read, because a log or a backup may hold them.
 * Little-endian. Every operation begins at a multiple of 4 bytes, so that its vector can be read in place:
 *
 *   header   u8 version, 3 zero bytes, u32 number of operations
 *   upsert   u8 1, u24 flags, u32 id bytes, f64 stamp, u32 dim, u32 metadata bytes, u32 text bytes,
 *            dim × f32, id, metadata, text, zeros to the next multiple of 4, [f64 expected]
 *   delete   u8 2, u24 flags, u32 id bytes, [u32 filter bytes,] id, [filter,] zeros, [f64 expected]
 *   stage    u8 3, u24 flags, u32 reshard bytes, f64 term, f64 forget, u32 number of the stage, reshard, zeros,
 *            [f64 version floor]
 *   import   u8 4, u24 flags, u32 id bytes, f64 stamp, u32 dim, u32 metadata bytes, u32 text bytes, f64 term,
 *            dim × f32, id, metadata, text, zeros, [f64 version]; without the flag of metadata, the item is to be taken
 *            away
 *
 *   expire   u8 7, u24 flags, u32 id bytes, id, zeros
 *   patch    u8 5, u24 flags, u32 id bytes, u32 dim (0: no vector), u32 metadata bytes, u32 text bytes, u32 filter
 *   bytes,
 *            u32 most bytes of the metadata, u32 most fields of them, dim × f32, id, metadata, text, filter, zeros,
 *            [f64 expected]
 *
 *   mark     u8 6, u24 flags, u32 note bytes, f64 now, f64 kept ms, f64 most bytes of all marks, f64 step, f64 term,
 *            16 bytes token, 16 bytes digest, note, zeros
 *
 * A write with a mark is of version 4, which counts versions, too. Flags of a mark: 2048 the note is UTF-16.
 * Stages and imports are of version 2, and so is a write that has any. Version 3 says that the shard counts versions
 * from here on; without it, no operation has a number behind it, and there are no patches. Flags: 256 there is a number
 * behind the operation, 512 it is alone in its conflicts. Of a patch: 128 its metadata replace what is there, 1024 they
 * are those of the patch before. A write of version 5 has a longer header: behind it, f64 the moment of the write in
 * milliseconds since the Unix epoch, which whoever puts it into a log sets (0 until then); items expire by it. Only
 * there are expires, and the flags of upserts, patches and imports: 4096 behind the operation, f64 when the item
 * expires (of an import as expiry.ts has it, otherwise 0: at no time of its own), 8192 behind that, f64 after how many
 * milliseconds one without a time of its own does. Version 6 has the form of 5, and says that the versions that the
 * shard gives are not below the first of the moment (stamp-time.ts), so that they tell when items changed; an import
 * has the flag 16384 where its version does. 4 the id is UTF-16. Of an upsert and an
 * import: 1 metadata and 2 text are present; 8 the metadata and 16 the text are UTF-16. Strings are UTF-16 if they are
 * not well-formed Unicode, otherwise UTF-8. Of a delete: 32 a filter is present, as JSON; 64 the filter is that of the
 * delete before, because thousands of deletes may share one. A reader refuses unknown versions and flags. Operations
 * that an earlier reader does not know (a type, a flag) are written under a higher version, and others stay at theirs:
 * replicas judge what they acknowledge by the version alone.
 */
export const OPERATIONS_VERSION = 6;
/** The oldest that a log may hold. */
export const PLAIN_VERSION = 1;
/** From a write of this version on, a shard counts versions. */
export const COUNTED_VERSION = 3;
/** From this version on, a write may have a mark (DedupOperation). */
export const DEDUP_VERSION = 4;
/** From this version on, a write has a moment, and items expire. */
export const TIMED_VERSION = 5;
/** From a write of this version on, versions tell when items changed. */
export const DATED_VERSION = 6;

export const HEADER_BYTES = 8;
export const TIMED_HEADER_BYTES = 16;
export const UPSERT_BYTES = 28;
export const DELETE_BYTES = 8;
export const STAGE_BYTES = 28;
export const IMPORT_BYTES = 36;
export const PATCH_BYTES = 32;
export const DEDUP_BYTES = 80;
export const EXPIRE_BYTES = 8;

export const TYPE_UPSERT = 1;
export const TYPE_DELETE = 2;
export const TYPE_STAGE = 3;
export const TYPE_IMPORT = 4;
export const TYPE_PATCH = 5;
export const TYPE_DEDUP = 6;
export const TYPE_EXPIRE = 7;

export const FLAG_METADATA = 1;
export const FLAG_TEXT = 2;
export const FLAG_ID_UTF16 = 4;
export const FLAG_METADATA_UTF16 = 8;
export const FLAG_TEXT_UTF16 = 16;
export const FLAG_FILTER = 32;
export const FLAG_SAME_FILTER = 64;
export const FLAG_REPLACES = 128;
export const FLAG_NUMBER = 256;
export const FLAG_ALONE = 512;
export const FLAG_SAME_METADATA = 1024;
export const FLAG_NOTE_UTF16 = 2048;
export const FLAG_EXPIRY = 4096;
export const FLAG_TTL = 8192;
export const FLAG_DATED = 16384;
export const ITEM_FLAGS = FLAG_METADATA | FLAG_TEXT | FLAG_ID_UTF16 | FLAG_METADATA_UTF16 | FLAG_TEXT_UTF16;
/** By version, what operations may have besides. */
export const COUNTED_FLAGS = FLAG_NUMBER | FLAG_ALONE;
export const TIMED_FLAGS = FLAG_EXPIRY | FLAG_TTL;
export const DELETE_FLAGS = FLAG_ID_UTF16 | FLAG_FILTER | FLAG_SAME_FILTER;
export const PATCH_FLAGS = ITEM_FLAGS | FLAG_FILTER | FLAG_SAME_FILTER | FLAG_REPLACES | FLAG_SAME_METADATA;
export const NUMBER_BYTES = 8;

export function aligned(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

export function malformed(what: string): QuiverError {
  return new QuiverError('internal', `malformed operations: ${what}`);
}
