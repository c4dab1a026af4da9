import {
  type BackupCheck,
  type BackupManifest,
  type CheckedObject,
  contentOf,
  getChecked,
  isUnreadable,
  objectsOf,
  openedContent,
  sealedText,
  TEXT_BYTES_MAX,
} from '../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { BACKUP_CHECK, SHARD_MANIFEST } from '../../../shared/backup-store/content-schemas';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Pace } from '../../../shared/base/time/pace';

/** What was found in each backup that was verified. */
export const CHECKS_PREFIX = 'checks/';
/** Objects that are read at once. */
const AT_ONCE = 8;
/** Names that are kept. */
const NAMED_MAX = 100;

export function checkKey(id: string): string {
  return `${CHECKS_PREFIX}${id}.json`;
}

/** What was read so far, for who goes on. */
export interface ChecksSoFar {
  objects: number;
  bytes: number;
  /** At most NAMED_MAX. */
  damaged: string[];
}

/**
 * Reads every object of a backup and compares it with its checksum, beginning where an earlier attempt was (`from`;
 * null: at the first). Errors: unavailable when it was stopped; those of the target.
 */
export async function checkBackup(
  target: BackupTarget,
  manifest: BackupManifest,
  how: {
    pace: Pace;
    stop: AbortSignal;
    wallMs: () => number;
    from: ChecksSoFar | null;
    onProgress: (so: ChecksSoFar, of: number) => void;
  },
): Promise<BackupCheck> {
  const damaged = [...(how.from?.damaged ?? [])];
  const objects: CheckedObject[] = [];
  for (const shard of manifest.collections.flatMap(({ shards }) => shards)) {
    objects.push(shard.manifest);
    try {
      for (const object of objectsOf(
        contentOf(SHARD_MANIFEST, shard.manifest.key, await getChecked(target, shard.manifest)),
      ))
        objects.push(object);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      // What fits its checksum, and says nothing that could be used, is found by no comparison.
      damaged.push(shard.manifest.key);
    }
  }
  const named = (): string[] => [...new Set(damaged)].sort().slice(0, NAMED_MAX);
  let bytes = how.from?.bytes ?? 0;
  let done = how.from?.objects ?? 0;
  for (let at = done; at < objects.length; at += AT_ONCE) {
    if (how.stop.aborted) throw new QuiverError('unavailable', 'the verification was stopped');
    const batch = objects.slice(at, at + AT_ONCE);
    await Promise.all(
      batch.map(async (object) => {
        try {
          bytes += (await getChecked(target, object)).length;
          await how.pace.pay(object.bytes, how.stop);
        } catch (error) {
          if (!isUnreadable(error)) throw error;
          damaged.push(object.key);
        }
      }),
    );
    done += batch.length;
    how.onProgress({ objects: done, bytes, damaged: named() }, objects.length);
  }
  if (how.stop.aborted) throw new QuiverError('unavailable', 'the verification was stopped');
  const check = { checkedAt: new Date(how.wallMs()).toISOString(), objects: objects.length, bytes, damaged: named() };
  const key = checkKey(manifest.id);
  await target.put(key, sealedText(check, { seals: target.seals, key }));
  return check;
}

/**
 * What the last check found; null: there was none, or what is there of it can't be believed. `isSealed`: whether the
 * backup is.
 */
export async function lastCheck(target: BackupTarget, id: string, isSealed: boolean): Promise<BackupCheck | null> {
  const key = checkKey(id);
  try {
    const bytes = await target.get(key, TEXT_BYTES_MAX);
    const found = bytes === null ? null : openedContent(BACKUP_CHECK, target.seals, key, bytes);
    return found === null || (isSealed && found.seal !== 'sealed') ? null : found.content;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}
