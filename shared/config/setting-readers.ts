import { CLUSTER_SETTINGS, SETTINGS } from './settings';

/** What a process is: everything in one, or one of the two kinds of member of a cluster. */
export type ProcessRole = (typeof ROLES)[number];

export const ROLES = ['embedded', 'coordinator', 'node'] as const;

type Field = keyof typeof SETTINGS | keyof typeof CLUSTER_SETTINGS;

/** Most settings of the service are about its API, most of a cluster's about membership: these are not. */
const OTHERWISE: Partial<Record<Field, readonly ProcessRole[]>> = {
  host: ROLES,
  opsPort: ROLES,
  dataDir: ROLES,
  logLevel: ROLES,
  shutdownTimeoutMs: ROLES,
  recallTarget: ['embedded', 'node'],
  shardsMax: ['embedded', 'node'],
  indexThreads: ['embedded', 'node'],
  storeCacheBytes: ['embedded', 'node'],
  storeWriteBufferBytes: ['embedded', 'node'],
  collectionFieldsMax: ['embedded', 'node'],
  zone: ['node'],
  copyBytesPerSecond: ['node'],
};

/** The roles for which a setting means something. Every process checks all that it could read. */
export function readersOf(field: string): readonly ProcessRole[] {
  return OTHERWISE[field as Field] ?? (field in CLUSTER_SETTINGS ? ['coordinator', 'node'] : ['embedded', 'coordinator']);
}

export function isRole(word: string): word is ProcessRole {
  return (ROLES as readonly string[]).includes(word);
}
