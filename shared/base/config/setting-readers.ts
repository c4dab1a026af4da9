import { CLUSTER_SETTINGS, SETTINGS } from './settings';

/** The role of a process: everything in one, or one of the two kinds of cluster members. */
export type ProcessRole = (typeof ROLES)[number];

export const ROLES = ['embedded', 'coordinator', 'node'] as const;

type Field = keyof typeof SETTINGS | keyof typeof CLUSTER_SETTINGS;

/**
 * Most settings of the service concern its API, and most of a cluster's concern membership. These are the exceptions.
 */
const OTHERWISE: Partial<Record<Field, readonly ProcessRole[]>> = {
  host: ROLES,
  opsPort: ROLES,
  dataDir: ROLES,
  dataExpected: ['embedded', 'node'],
  logLevel: ROLES,
  shutdownTimeoutMs: ROLES,
  backupTarget: ROLES,
  backupBytesPerSecond: ROLES,
  backupLog: ROLES,
  backupLogSeconds: ROLES,
  backupLogKeptBytes: ['embedded', 'node'],
  backupS3Endpoint: ROLES,
  backupS3Region: ROLES,
  backupS3PathStyle: ROLES,
  backupS3AccessKeyId: ROLES,
  backupS3SecretAccessKey: ROLES,
  backupS3SessionToken: ROLES,
  backupS3CredentialsFile: ROLES,
  backupS3Encryption: ROLES,
  backupSecret: ROLES,
  backupSecretOther: ROLES,
  answerBytesMax: ROLES,
  recallTarget: ['embedded', 'node'],
  shardsMax: ['embedded', 'node'],
  idleShardSeconds: ['embedded'],
  indexThreads: ['embedded', 'node'],
  storeCacheBytes: ['embedded', 'node'],
  storeWriteBufferBytes: ['embedded', 'node'],
  collectionFieldsMax: ['embedded', 'node'],
  zone: ['node'],
  readThreads: ['node'],
  readReplicas: ['coordinator'],
  copyBytesPerSecond: ['node'],
  compareReplicasSeconds: ['node'],
};

/** The roles in which a setting has an effect. Every process checks all settings that it could read. */
export function readersOf(field: string): readonly ProcessRole[] {
  return (
    OTHERWISE[field as Field] ?? (field in CLUSTER_SETTINGS ? ['coordinator', 'node'] : ['embedded', 'coordinator'])
  );
}

export function isRole(word: string): word is ProcessRole {
  return (ROLES as readonly string[]).includes(word);
}
