import type { CallOptions, ShardId, WriteResult } from '../../../shared/contract/shard/shard-client';

/** What became of a write as bytes. */
export interface EncodedWrite {
  result: WriteResult;
  /** The bytes that were given, perhaps elsewhere. */
  bytes: Buffer;
  /** Whether their memory may still be read, so that nothing else may be written there. */
  isShared: boolean;
}

/** How an encoded write is made. */
export interface EncodedWriteOptions {
  write: NonNullable<WritesEncoded['writeEncoded']>;
  /** After how long the items expire; undefined: at no time. */
  ttlMs: number | undefined;
}

/** Shards that take a write as bytes. */
export interface WritesEncoded {
  /**
   * As ShardClient.write, of operations in the format of operation-format.ts, of a version with moments. The memory of
   * the bytes goes over, and is not to be used any more; once the write has succeeded, it comes back. Absent where it
   * would gain nothing.
   */
  writeEncoded?: ((id: ShardId, bytes: Buffer, call: CallOptions) => Promise<EncodedWrite>) | undefined;
}
