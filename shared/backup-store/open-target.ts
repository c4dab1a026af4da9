import { fileURLToPath } from 'node:url';
import type { Config } from '../base/config/config';
import { QuiverError } from '../base/errors/quiver-error';
import type { BackupSeals } from './backup-seals';
import type { BackupTarget, OpenTarget } from './backup-target';
import { FolderTarget } from './folder-target';
import { S3Target } from './s3-target';

/** What of the configuration concerns targets. */
export type BackupTargetConfig = Pick<
  Config,
  | 'backupTarget'
  | 'backupS3Endpoint'
  | 'backupS3Region'
  | 'backupS3PathStyle'
  | 'backupS3AccessKeyId'
  | 'backupS3SecretAccessKey'
  | 'backupS3SessionToken'
  | 'backupS3CredentialsFile'
  | 'backupS3Encryption'
>;

/** Opens targets by name: the one that is configured, and what is below it. */
export function targetOpener(config: BackupTargetConfig, seals: BackupSeals): OpenTarget {
  const open = new Map<string, BackupTarget>();
  return (name) => {
    const found = open.get(name) ?? targetOf(checkedName(config.backupTarget, name), config, seals);
    open.set(name, found);
    return found;
  };
}

/**
 * The name of a target: `configured` itself, or something below it: whoever may ask for a backup must not choose where
 * processes write. Errors: invalid_parameter.
 */
export function checkedName(configured: string, name: string): string {
  if (configured === '')
    throw new QuiverError(
      'invalid_parameter',
      'there is no place for backups: BACKUP_TARGET is not set, as to file:/srv/backups',
    );
  const base = configured.replace(/\/$/, '');
  const isBelow = name.startsWith(base) && /^(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*\/?$/.test(name.slice(base.length));
  if (!isBelow) throw new QuiverError('invalid_parameter', 'target must be BACKUP_TARGET, or a folder below it');
  return name;
}

function targetOf(name: string, config: BackupTargetConfig, seals: BackupSeals): BackupTarget {
  if (name.startsWith('file:')) return new FolderTarget(name, fileURLToPath(name), seals);
  const access = {
    endpoint: config.backupS3Endpoint,
    region: config.backupS3Region,
    isPathStyle: config.backupS3PathStyle === 'true',
    accessKeyId: config.backupS3AccessKeyId,
    secretAccessKey: config.backupS3SecretAccessKey,
    sessionToken: config.backupS3SessionToken,
    credentialsFile: config.backupS3CredentialsFile,
    encryption: config.backupS3Encryption,
  };
  return new S3Target(name, access, seals);
}
