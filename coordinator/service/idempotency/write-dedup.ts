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
  { step = PLAIN_STEP, note = '', keptMs = KEPT_MS }: { step?: number; note?: string; keptMs?: number } = {},
): DedupOperation {
  return {
    type: 'dedup',
    token,
    digest,
    nowMs: Math.floor(nowMs),
    keptMs,
    bytesMax: DEDUP_BYTES_MAX,
    step,
    note,
    term: NO_TERM,
  };
}

/** A write that is on its way for longer was lost. */
const REVOCABLE_MS = 60 * 60 * 1000;

/**
 * The mark of a write that can be revoked, by a token of 128 bits, hexadecimal: as a first step, of which a shard keeps
 * that it was taken, and not what became of each item.
 */
export function revocableOf(token: string, nowMs: number): DedupOperation {
  // A step has a key for what it keeps of items; this one keeps nothing.
  return dedupOf({ token, digest: token }, nowMs, { step: 0, note: token + token, keptMs: REVOCABLE_MS });
}

/** The mark after which that write is not done any more. It changes nothing where the write was taken before. */
export function revocationOf(token: string, nowMs: number): DedupOperation {
  return dedupOf({ token, digest: token }, nowMs, { note: 'revoked', keptMs: REVOCABLE_MS });
}

export function keyReused(): QuiverError {
  return new QuiverError(
    'key_reused',
    'this Idempotency-Key was used for another request before: give each request a key of its own, and repeat one with the same method, path, query and body',
  );
}
