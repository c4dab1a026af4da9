import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { DEDUP_BYTES_MAX } from '../../../shared/contract/writes/dedup-record';
import { type DedupOperation, NO_TERM, PLAIN_STEP } from '../../../shared/contract/shard/shard-client';

/** For how long outcomes are kept: what the field promises, and long enough for any retry. */
export const KEPT_MS = 24 * 60 * 60 * 1000;

/** A request that is to be done once, by its Idempotency-Key. */
export interface Once {
  /** Of the caller and the key: 128 bits, hexadecimal. */
  token: string;
  /** Of the request, the same. */
  digest: string;
  /**
   * What names items is stored encrypted under it (sealing-keys.ts), so that it is gone with the item for everybody but
   * who repeats the request. 256 bits, hexadecimal.
   */
  readonly sealingKey: string;
  /** To be called when the answer is that of an earlier request. */
  repeated(): void;
}

/** The mark with which a part of the request is done once. */
export function dedupOf(
  { token, digest }: Pick<Once, 'token' | 'digest'>,
  nowMs: number,
  { step = PLAIN_STEP, note = '' }: { step?: number; note?: string } = {},
): DedupOperation {
  return {
    type: 'dedup',
    token,
    digest,
    nowMs: Math.floor(nowMs),
    keptMs: KEPT_MS,
    bytesMax: DEDUP_BYTES_MAX,
    step,
    note,
    term: NO_TERM,
  };
}

export function keyReused(): QuiverError {
  return new QuiverError(
    'key_reused',
    'this Idempotency-Key was used for another request before: give each request a key of its own, and repeat one with the same method, path, query and body',
  );
}
