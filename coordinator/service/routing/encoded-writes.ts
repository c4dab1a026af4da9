import type { CallOptions, ShardId, WriteResult } from '../../../shared/contract/shard/shard-client';

/** Shards that take a write as bytes. */
export interface WritesEncoded {
  /**
   * As ShardClient.write, of operations in the format of operation-format.ts, of a version with moments. The memory of
   * the bytes goes over, and is not to be used any more; once the write has succeeded, it comes back. Absent where it
   * would gain nothing.
   */
  writeEncoded?:
    | ((id: ShardId, bytes: Buffer, call: CallOptions) => Promise<{ result: WriteResult; bytes: Buffer }>)
    | undefined;
}
