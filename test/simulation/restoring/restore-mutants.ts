import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { BACKUPS_PREFIX, CLAIMS_PREFIX } from '../../../shared/backup-store/backup-format';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import { RESTORES_PATH } from '../../../coordinator/jobs/backup/backup-record';
import { callsOf } from '../../support/stories/shard-calls';
import type { ArchiveTamper } from './archiving-nodes';

/** A known-bad variant of what backups and restores rest on. */
export interface RestoreMutant {
  name: string;
  title: string;
  /** A seed that is known to catch it, from which on the tests look. */
  seed: number;
  nodes?: ArchiveTamper;
  /** What coordinators' calls become on their way to shards, to the cluster store and to the target. */
  shards?: (client: ShardClient) => ShardClient;
  store?: (store: ClusterStore) => ClusterStore;
  target?: (target: BackupTarget) => BackupTarget;
}

export const RESTORE_MUTANTS: RestoreMutant[] = [
  {
    name: 'B1',
    title: 'restored shards keep what they began with in the map',
    seed: 24,
    store: (store) => ({ ...storeCalls(store), get: async (key) => (isAssignment(key) ? null : store.get(key)) }),
  },
  {
    name: 'B2',
    title: 'a restored shard takes the items of the others, too',
    seed: 2,
    nodes: { isOwn: () => true },
  },
  {
    name: 'B3',
    title: 'neither a backup nor a restore claims what it needs',
    seed: 24,
    target: (target) => ({
      ...targetCalls(target),
      put: (key, bytes) => (key.startsWith(CLAIMS_PREFIX) ? Promise.resolve() : target.put(key, bytes)),
      create: (key, bytes) => (key.startsWith(CLAIMS_PREFIX) ? Promise.resolve(true) : target.create(key, bytes)),
    }),
  },
  {
    name: 'B4',
    title: 'a shard takes the order of a backup for that of the one before',
    seed: 2,
    nodes: { backup: () => 'the same' },
  },
  {
    name: 'B5',
    title: 'a shard that is filled in part counts as filled',
    seed: 1,
    nodes: { beginning: (shard) => ({ ...shard, items: shard.items.slice(0, 2) }) },
  },
  {
    name: 'B6',
    title: 'a restore goes on whoever changed its entry',
    seed: 1,
    store: (store) => ({
      ...storeCalls(store),
      transact: (guards, changes) =>
        store.transact(changes.some(({ key }) => key.startsWith(RESTORES_PATH)) ? [] : guards, changes),
    }),
  },
  {
    name: 'B7',
    title: 'what a restore that was given up has made stays',
    seed: 3,
    shards: (client) => ({ ...callsOf(client), drop: () => Promise.resolve() }),
  },
  {
    name: 'B8',
    title: 'a manifest takes the place of another one of its backup',
    seed: 22,
    target: (target) => ({
      ...targetCalls(target),
      create: (key, bytes) =>
        key.startsWith(BACKUPS_PREFIX) ? target.put(key, bytes).then(() => true) : target.create(key, bytes),
    }),
  },
];

function storeCalls(store: ClusterStore): ClusterStore {
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: (guards, changes) => store.transact(guards, changes),
    watch: (prefix, afterRevision, listener) => store.watch(prefix, afterRevision, listener),
    close: () => store.close(),
  };
}

function targetCalls(target: BackupTarget): BackupTarget {
  return {
    name: target.name,
    seals: target.seals,
    put: (key, bytes) => target.put(key, bytes),
    create: (key, bytes) => target.create(key, bytes),
    get: (key) => target.get(key),
    list: (prefix) => target.list(prefix),
    delete: (key) => target.delete(key),
  };
}
