import type { ClusterStore, Guard, StoreChange } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  DEFAULT_KEY_ID,
  deletedKeyPath,
  KEY_COUNTER_PATH,
  type KeyRecord,
  keyFromEntry,
  idOfKeyEntry,
  keyPath,
  KEYS_PREFIX,
  keyToValue,
} from '../../service/keys/key-record';
import { backedUpKey } from './restored-records';

const ATTEMPTS_MAX = 16;

/**
 * Puts keys of a backup beside those that are there. A key that is there already stays as it is, also if it has another
 * secret by now, and one that was deleted here stays deleted. One whose number was given here to another key gets the
 * next, because numbers are never given twice, and remembers the one that it had. Key 1 belongs to the deployment, and
 * is left out. Errors: unavailable; storage_damaged for what is no key, and then none is put back.
 */
export async function restoreKeys(store: ClusterStore, values: readonly string[]): Promise<void> {
  const records = restorableKeys(values);
  // The lowest first: a higher one that is there already would take their numbers from the others.
  for (const record of records.sort((a, b) => a.id - b.id)) await restoreKey(store, record);
}

/** The keys of a backup that are restored. Errors: storage_damaged for one that is none. */
export function restorableKeys(values: readonly string[]): KeyRecord[] {
  return values.map(backedUpKey).filter(({ id }) => id !== DEFAULT_KEY_ID);
}

async function restoreKey(store: ClusterStore, record: KeyRecord): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const counter = await store.get(KEY_COUNTER_PATH);
    const { entries } = await store.list(KEYS_PREFIX);
    const present = readableEntries(entries, keyFromEntry);
    if (
      present.some(
        (one) => isSameKey(one, record) || one.digest === record.digest || one.previous?.digest === record.digest,
      )
    )
      return;
    if (await wasDeleted(store, record)) return;
    const origin = originOf(record);
    const last = Math.max(Number(counter?.value ?? 0), ...entries.map(idOfKeyEntry));
    const id = record.id <= last ? last + 1 : record.id;
    const guards: Guard[] = [
      { key: keyPath(id), revision: 0 },
      { key: KEY_COUNTER_PATH, revision: counter?.revision ?? 0 },
    ];
    const changes: StoreChange[] = [
      { type: 'put', key: keyPath(id), value: keyToValue({ ...record, id, ...(id !== origin && { origin }) }) },
      { type: 'put', key: KEY_COUNTER_PATH, value: String(Math.max(last, id)) },
    ];
    if ((await store.transact(guards, changes)).applied) return;
  }
  throw new QuiverError('unavailable', 'the keys of a backup could not be put back: the cluster store is too busy');
}

/** Under the number that it has here, or has in the backup. */
async function wasDeleted(store: ClusterStore, { createdAt, ...record }: KeyRecord): Promise<boolean> {
  const id = originOf(record);
  const paths = [deletedKeyPath({ id, createdAt }), deletedKeyPath({ id, origin: id, createdAt })];
  const found = await Promise.all(paths.map((path) => store.get(path)));
  return found.some((entry) => entry?.value === createdAt);
}

/** Numbers alone are given by every service. */
function isSameKey(one: KeyRecord, other: KeyRecord): boolean {
  return originOf(one) === originOf(other) && one.createdAt === other.createdAt;
}

function originOf({ id, origin = id }: Pick<KeyRecord, 'id' | 'origin'>): number {
  return origin;
}
