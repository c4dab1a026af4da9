import type { CallOptions, ShardId, WriteResult } from './shard-client';

/** Shards that take a write as bytes, in shared memory. */
export interface WritesEncoded {
  /**
   * As ShardClient.write, of operations in the format of operation-format.ts, of a version with moments. Nobody may write to the
   * bytes until it has succeeded; after an error they may be read for ever. Absent where it would gain nothing.
   */
  writeEncoded?: ((id: ShardId, bytes: Buffer, call: CallOptions) => Promise<WriteResult>) | undefined;
}
