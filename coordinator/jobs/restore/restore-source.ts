import { randomBytes } from 'node:crypto';
import { type BackupManifest, isUnreadable } from '../../../shared/backup-store/backup-format';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  type CollectionRecord,
  collectionToValue,
  defaultMinInSync,
} from '../../service/collections/collection-record';
import type { NewRestore } from '../../service/service';
import type { RestoredCollection } from '../backup/backup-record';
import type { StoredBackup } from '../backup/backup-repository';
import type { ReachedCollection } from './restore-moment';
import { restorableKeys } from './restored-keys';
import { backedUpRecord } from './restored-records';

const UID_BYTES = 16;
/** Names in a message. */
const NAMED_MAX = 20;
const KEYS_NAMED_MAX = 200;

/** What a restore takes its collections from. */
export interface RestoreSource {
  id: string;
  collections: (Pick<BackupManifest['collections'][number], 'name' | 'uid' | 'record'> & {
    base?: string;
    upTo?: number[];
    isSealed?: boolean;
  })[];
  /** Why those are missing that it was to have. */
  leftOut?: BackupManifest['leftOut'];
  /** What whoever asked should know. */
  warnings: string[];
  /** Checksums of the manifests that are read, by the backups' ids. */
  manifests: Record<string, string>;
}

/** Errors: invalid_parameter when it is taken only if somebody says so. */
export function sourceOf(
  stored: StoredBackup,
  input: Pick<NewRestore, 'collections' | 'keys' | 'unsealed'>,
): RestoreSource {
  const { manifest, seal, sha256 } = stored;
  mustBeTaken(stored, input);
  const missing = input.collections === undefined ? (manifest.leftOut ?? []) : [];
  const warnings = [
    ...missing.map(
      ({ name, reason }) => `collection "${name}" is not in this backup, so it is not restored: ${reason}`,
    ),
    ...(seal === 'sealed' ? [] : [unsealedWarning('this backup')]),
    ...(input.keys ? [keysWarning(manifest.startedAt), ...unsealedKeys(stored)] : []),
  ];
  return {
    id: manifest.id,
    collections: manifest.collections,
    leftOut: manifest.leftOut,
    warnings,
    manifests: { [manifest.id]: sha256 },
  };
}

/** The same of a moment. Errors: invalid_parameter, also when keys are wanted of a moment that no backup leads to. */
export function sourceOfMoment(
  { collections, bases }: { collections: ReachedCollection[]; bases: StoredBackup[] },
  input: Pick<NewRestore, 'keys' | 'unsealed'>,
): RestoreSource {
  const id = collections.reduce((newest, { base }) => (base > newest ? base : newest), '');
  if (input.keys && id === '')
    throw new QuiverError(
      'invalid_parameter',
      'keys are in backups only, and none is used for this moment: leave keys out',
    );
  const used = bases.filter(({ manifest }) => collections.some(({ base }) => base === manifest.id));
  const newest = used.find(({ manifest }) => manifest.id === id);
  if (newest !== undefined) mustBeTaken(newest, input);
  const unsealed = collections.filter(({ isSealed }) => !isSealed).map(({ name }) => name);
  const warnings = [
    ...(unsealed.length > 0 ? [unsealedWarning(`what leads to this moment of ${listed(unsealed)}`)] : []),
    ...(input.keys && newest !== undefined ? [keysWarning(newest.manifest.startedAt), ...unsealedKeys(newest)] : []),
  ];
  return {
    id,
    collections,
    warnings,
    manifests: Object.fromEntries(used.map(({ manifest, sha256 }) => [manifest.id, sha256])),
  };
}

/**
 * Collections of a backup that this service has not sealed are restored, with a warning: programs before seals made
 * such ones, and so do services with another secret. Its keys are not. Errors: invalid_parameter, unless the request
 * says to take them on trust.
 */
function mustBeTaken(
  { manifest, seal }: StoredBackup,
  { keys, unsealed = false }: Pick<NewRestore, 'keys' | 'unsealed'>,
): void {
  if (!keys) return;
  const names = keysOf(manifest);
  if (seal === 'sealed' || unsealed) return;
  const why =
    seal === 'unsealed'
      ? 'has no seal'
      : 'has a seal of another secret, which BACKUP_SECRET_OTHER may name, or was changed since';
  throw new QuiverError(
    'invalid_parameter',
    `backup ${manifest.id} ${why}, so anybody who can write to the target may have put keys into it: ${names}; leave keys out, or look through these: "unsealed": true takes them on trust`,
  );
}

/** The keys that a restore would put in force. Errors: invalid_parameter where some are none. */
function keysOf(manifest: BackupManifest): string {
  try {
    const keys = restorableKeys(manifest.keys);
    // Those that may do everything come first: nobody is to overlook one in a long list.
    const sorted = [...keys.filter(({ role }) => role === 'admin'), ...keys.filter(({ role }) => role !== 'admin')];
    const names = sorted.map(({ id, name, role }) => `${id} ${JSON.stringify(name)} (${role})`);
    return names.length === 0 ? 'none' : listed(names, KEYS_NAMED_MAX);
  } catch (error) {
    if (isUnreadable(error))
      throw new QuiverError(
        'invalid_parameter',
        `the keys of backup ${manifest.id} can not be restored: ${error.message}`,
        { cause: error },
      );
    throw error;
  }
}

function unsealedKeys({ manifest, seal }: StoredBackup): string[] {
  return seal === 'sealed'
    ? []
    : [`these keys were taken on trust, out of a backup that is not sealed by this service: ${keysOf(manifest)}`];
}

function unsealedWarning(what: string): string {
  return `${what} is not sealed by this service: whoever can write to the target may have changed it`;
}

/** What of a backup is to be restored, under which names, and as what. Errors: not_found, invalid_parameter. */
export function chosenOf(manifest: RestoreSource, input: NewRestore, createdAt: string): RestoredCollection[] {
  const known = new Set(manifest.collections.map(({ name }) => name));
  for (const name of [...(input.collections ?? []), ...Object.keys(input.rename)])
    if (!known.has(name)) throw new QuiverError('not_found', notIn(name, manifest));
  const wanted = manifest.collections.filter(
    ({ name }) => input.collections === undefined || input.collections.includes(name),
  );
  return wanted.map((collection) => {
    const before = usableRecord(collection);
    const uid = randomBytes(UID_BYTES).toString('hex');
    const replicas = input.replicas ?? before.replicas;
    const record = {
      ...before,
      uid,
      identity: uid,
      name: input.rename[collection.name] ?? collection.name,
      shards: input.shards ?? before.shards,
      replicas,
      minInSync: replicas === before.replicas ? before.minInSync : defaultMinInSync(replicas),
      createdAt,
      state: 'creating' as const,
    };
    const { base, upTo, isSealed } = collection;
    return {
      from: collection.name,
      fromUid: collection.uid,
      record: collectionToValue(record),
      ...(upTo && { base, upTo, ...(isSealed === true && { isSealed }) }),
      shardsReady: 0,
    };
  });
}

/** Errors: invalid_parameter. */
function usableRecord(collection: { name: string; record: string }): CollectionRecord {
  try {
    return backedUpRecord(collection);
  } catch (error) {
    if (isUnreadable(error)) throw new QuiverError('invalid_parameter', error.message, { cause: error });
    throw error;
  }
}

function notIn(name: string, { id, leftOut = [] }: RestoreSource): string {
  const why = leftOut.find((one) => one.name === name);
  return `collection "${name}" is not in backup ${id}${why === undefined ? '' : `: it was left out, because ${why.reason}`}`;
}

function keysWarning(startedAt: string): string {
  return `keys are as they were at ${startedAt}: one that was deleted or got another secret since works again as it was then, unless this service still knows of that; look through GET /v1/admin/keys`;
}

/** The first of a list, which somebody else may have made as long as he liked. */
function listed(names: readonly string[], max = NAMED_MAX): string {
  const shown = names.slice(0, max).join(', ');
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
