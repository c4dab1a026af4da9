import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { derivedKey } from '../base/secret/derived-key';

/**
 * What the seal of an object turned out to be: `sealed`, by a secret of this service; `foreign`, by a secret that it
 * does not have, or the object was changed since; `unsealed`, as programs without seals wrote it.
 */
export type SealState = 'sealed' | 'foreign' | 'unsealed';

/** The secrets that a process may have for seals. */
export interface SealSecrets {
  /** BACKUP_SECRET: seals, and is the only one to do so where it is set. */
  backupSecret?: string | undefined;
  /** Seals of it are taken, too. */
  backupSecretOther?: string | undefined;
  /** Of a cluster: seals where there is no BACKUP_SECRET. Seals of it are always taken. */
  clusterSecret?: string | undefined;
  clusterSecretOther?: string | undefined;
}

/**
 * Seals of objects in a backup target: HMAC-SHA256 over the object's name and content, under a key derived from a
 * secret that is not in the target. Who can write to the target and does not know the secret can neither make such an
 * object nor give one another name. A seal does not prove age: an earlier content of the same name has a valid one.
 */
export class BackupSeals {
  /** The first one seals. */
  private readonly keys: readonly KeyObject[];

  constructor(secrets: readonly [string, ...string[]]) {
    this.keys = secrets.map((secret) => derivedKey(secret, 'seals of backups, 1'));
  }

  of(key: string, content: string | Buffer): Buffer {
    return sealOf(this.keys[0], key, content);
  }

  /** `seal`: null where there is none. */
  check(key: string, content: string | Buffer, seal: Buffer | null): SealState {
    if (seal === null) return 'unsealed';
    const isGood = this.keys.some((secret) => {
      const own = sealOf(secret, key, content);
      return own.length === seal.length && timingSafeEqual(own, seal);
    });
    return isGood ? 'sealed' : 'foreign';
  }
}

/** Throws a plain Error where there is no secret at all. */
export function backupSealsOf({
  backupSecret,
  backupSecretOther,
  clusterSecret,
  clusterSecretOther,
}: SealSecrets): BackupSeals {
  const [first, ...others] = [backupSecret, clusterSecret, clusterSecretOther, backupSecretOther].filter(
    (secret) => secret !== undefined,
  );
  if (first === undefined) throw new Error('there is no secret to seal backups with');
  return new BackupSeals([first, ...others]);
}

/**
 * The length of the name comes first, so that no other split of the same bytes into name and content has the same seal.
 */
function sealOf(secret: KeyObject, key: string, content: string | Buffer): Buffer {
  return createHmac('sha256', secret)
    .update(`${Buffer.byteLength(key)} ${key}`)
    .update(content)
    .digest();
}
