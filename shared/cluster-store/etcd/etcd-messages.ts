import assert from 'node:assert';
import type { Guard, StoreChange, StoreEntry, StoreEvent } from '../cluster-store';
import type { Compare, EtcdRange, KeyValue, RequestOp, ResponseOp, TxnRequest, WatchEvent } from './etcd-protocol';

/** etcd's default for `--max-txn-ops`, which we leave as it is. */
const TRANSACTION_OPERATIONS_MAX = 128;

/** The range of keys that start with `prefix`, as etcd's requests name it. */
export function prefixToRange(prefix: string): { key: Buffer; range_end: Buffer } {
  // For etcd, a range that ends at a zero byte is unbounded.
  const unbounded = Buffer.of(0);
  if (prefix === '') return { key: unbounded, range_end: unbounded };
  const key = Buffer.from(prefix);
  // The first key after all of them. UTF-8 has no byte 0xff, so the last byte can always be incremented.
  const end = Buffer.from(key);
  end[end.length - 1]++;
  return { key, range_end: end };
}

/** The key must not be empty (an assertion): etcd has no empty keys. */
export function keyToRange(key: string): EtcdRange {
  assert(key !== '', 'a key of etcd is not empty');
  return { key: Buffer.from(key) };
}

export function entryFromKeyValue({ key, value, mod_revision }: KeyValue): StoreEntry {
  return { key: key.toString(), value: value.toString(), revision: Number(mod_revision) };
}

export function eventFromMessage({ type, kv }: WatchEvent): StoreEvent {
  if (type === 'DELETE') return { type: 'delete', key: kv.key.toString(), revision: Number(kv.mod_revision) };
  return { type: 'put', ...entryFromKeyValue(kv) };
}

/**
 * Makes the changes if the guards hold, otherwise reads the guarded keys, in their order. At most 128 of each (an
 * assertion).
 */
export function transactionToMessage(guards: Guard[], changes: StoreChange[]): TxnRequest {
  assert(
    Math.max(guards.length, changes.length) <= TRANSACTION_OPERATIONS_MAX,
    'a transaction of etcd has at most 128 guards and 128 changes',
  );
  return {
    compare: guards.map(guardToMessage),
    success: changes.map(changeToMessage),
    failure: guards.map(({ key }) => ({ request_range: keyToRange(key) })),
  };
}

export function currentFromMessage(responses: ResponseOp[]): (StoreEntry | null)[] {
  return responses.map(({ response_range }) => {
    const found = response_range?.kvs[0];
    return found === undefined ? null : entryFromKeyValue(found);
  });
}

/** In etcd, too, an absent key has the modification revision 0. */
function guardToMessage({ key, revision }: Guard): Compare {
  assert(key !== '', 'a key of etcd is not empty');
  return { key: Buffer.from(key), target: 'MOD', result: 'EQUAL', mod_revision: revision };
}

function changeToMessage(change: StoreChange): RequestOp {
  assert(change.key !== '', 'a key of etcd is not empty');
  const key = Buffer.from(change.key);
  if (change.type === 'delete') return { request_delete_range: { key } };
  return { request_put: { key, value: Buffer.from(change.value), lease: change.session ?? 0 } };
}
