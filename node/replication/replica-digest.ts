import { createHash } from 'node:crypto';
import type { ReplicaDigest } from '../../shared/cluster-store/entries/node-report';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { KeyValueStore } from '../engine/kv/key-value-store';
import { contentOfRecordBytes } from '../engine/records/record-codec';
import { ITEM_RANGE, DEDUP_RANGES, ORDER_RANGE } from '../engine/records/record-keys';
import { decodedRecord } from '../engine/records/record-store';
import type { Pace } from '../../shared/base/time/pace';
import { APPLIED_KEY, COPIED_RANGE, pairFromBytes, SESSIONS_RANGE } from './log/log-keys';

const MASK = (1n << 64n) - 1n;

/** How a digest is made: `pace` bounds what is read per second, `onView` is called once the view is taken. */
interface DigestOptions {
  pace?: Pace;
  stop?: AbortSignal;
  onView?: () => void;
}

/**
 * The digest of a replica's store, over one consistent view of it; writes may go on. Takes some seconds per gigabyte,
 * or as long as `pace` makes it. Errors: storage_failed, storage_damaged; unavailable when it is stopped.
 */
export async function digestOf(
  store: KeyValueStore,
  { pace, stop, onView }: DigestOptions = {},
): Promise<ReplicaDigest> {
  let appliedSequence = 0;
  let items = 0;
  /**
   * Sums of the items' hashes, in four lanes. A sum, because records are numbered differently on each replica, so their
   * order means nothing.
   */
  const sums = [0n, 0n, 0n, 0n];
  const order = createHash('sha256');
  const sessions = createHash('sha256');
  // Nobody waits long behind a page of one that has time.
  const pageSize = pace === undefined ? 256 : 64;
  mustGoOn(stop);
  for await (const page of store.scan({ ...COPIED_RANGE, pageSize })) {
    onView?.();
    mustGoOn(stop);
    let bytes = 0;
    for (const { key, value } of page) {
      bytes += key.length + value.length;
      if (isWithin(ITEM_RANGE, key)) {
        items += 1;
        const hash = createHash('sha256').update(decodedRecord(value, contentOfRecordBytes)).digest();
        for (let lane = 0; lane < 4; lane++) sums[lane] = (sums[lane] + hash.readBigUInt64LE(lane * 8)) & MASK;
      } else if (isWithin(ORDER_RANGE, key)) {
        order.update(lengthBytes(key)).update(key);
      } else if (isWithin(SESSIONS_RANGE, key) || isWithin(DEDUP_RANGES, key)) {
        sessions.update(lengthBytes(key)).update(key).update(lengthBytes(value)).update(value);
      } else if (key.equals(APPLIED_KEY)) {
        [appliedSequence] = pairFromBytes(value);
      }
    }
    await pace?.pay(bytes, stop);
    mustGoOn(stop);
  }
  onView?.();
  const content = sums.map((sum) => sum.toString(16).padStart(16, '0')).join('');
  return { appliedSequence, items, content, order: order.digest('hex'), sessions: sessions.digest('hex') };
}

function mustGoOn(stop: AbortSignal | undefined): void {
  if (stop?.aborted === true) throw new QuiverError('unavailable', 'the digest of a replica was given up');
}

function isWithin(range: { from: Buffer; to: Buffer }, key: Buffer): boolean {
  return Buffer.compare(key, range.from) >= 0 && Buffer.compare(key, range.to) < 0;
}

function lengthBytes(bytes: Buffer): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(bytes.length);
  return length;
}
