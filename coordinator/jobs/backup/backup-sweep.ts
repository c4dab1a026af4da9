import type { z } from 'zod';
import {
  type BackupManifest,
  BACKUPS_PREFIX,
  CLAIMS_PREFIX,
  contentOf,
  DATA_PREFIX,
  idOfKey,
  isUnreadable,
  objectsOf,
  TEXT_BYTES_MAX,
  VOIDS_PREFIX,
} from '../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { BACKUP_CLAIM, BACKUP_MANIFEST, SHARD_MANIFEST } from '../../../shared/backup-store/content-schemas';
import { checkKey } from './backup-checks';
import { claimKey, idsUnder, manifestKey, msOfId, voidKey } from './backup-names';
import { ShippedLogs } from './shipped-logs';

/** A process that stood still for longer must not go on with a backup; and what is void is remembered for as long. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Objects that are removed at once. */
const AT_ONCE = 8;

/**
 * Removes what no backup needs, and none that is under way. May be given up and begun again at any moment. Where
 * something can't be read that says what is needed, all that it may need stays; its names are answered.
 */
export class BackupSweep {
  constructor(
    private readonly target: BackupTarget,
    private readonly wallMs: () => number,
  ) {}

  /** Answers the names of what could not be read. Errors: those of the target. */
  async run(): Promise<string[]> {
    const unreadable: string[] = [];
    // In this order. Whoever wrote what is listed first had claimed before. Whoever claims what is void later than that
    // is listed finds it void, and lets it be. And what is claimed no more is in force by now, and then it is listed.
    const objects = await this.target.list(DATA_PREFIX);
    const voids = new Set(await idsUnder(this.target, VOIDS_PREFIX));
    const claims = await this.claims(unreadable);
    const claimed = new Set(claims.map(({ id }) => id));
    const manifests = await idsUnder(this.target, BACKUPS_PREFIX);
    // A claim that can't be read may be of any backup that was there when it began.
    const needed = new Set(claims.flatMap(({ id, bases }) => bases ?? manifests.filter((other) => other < id)));
    const present = new Set(manifests.filter((id) => !voids.has(id) || needed.has(id)));
    const data = new Map<string, string[]>();
    const repeated = this.repeated(objects.map(({ key }) => key));
    for (const { key } of objects) {
      const id = idOfKey(key, DATA_PREFIX);
      if (id === null || (present.has(id) && !repeated.has(id)) || claimed.has(id)) continue;
      const keys = data.get(id);
      if (keys === undefined) data.set(id, [key]);
      else keys.push(key);
    }
    const kept = await this.objectsNeeded(present, new Set(data.keys()), {
      keys: objects.map(({ key }) => key),
      unreadable,
    });
    for (const keys of data.values()) {
      await inBatches(
        keys.filter((key) => !kept.has(key)),
        (key) => this.target.delete(key),
      );
    }
    // A claim that can't be read may be of any log.
    if (claims.every(({ bases }) => bases !== null))
      await this.sweepLogs(present, new Set(claims.flatMap(({ logs }) => logs)), unreadable);
    for (const id of voids) {
      if (needed.has(id)) continue;
      await this.target.delete(manifestKey(id));
      await this.target.delete(checkKey(id));
      if (this.isForgotten(id)) await this.target.delete(voidKey(id));
    }
    return [...new Set(unreadable)];
  }

  /**
   * Removes what of the logs no backup leads to, and nobody holds (`held`: uids of collections). Where a backup can't
   * be read, nothing is removed.
   */
  private async sweepLogs(
    present: ReadonlySet<string>,
    held: ReadonlySet<string>,
    unreadable: string[],
  ): Promise<void> {
    const manifests: BackupManifest[] = [];
    for (const id of present) {
      const manifest = await this.contentAt(BACKUP_MANIFEST, manifestKey(id), unreadable);
      if (manifest === 'damaged') return;
      if (manifest !== null) manifests.push(manifest);
    }
    await new ShippedLogs(this.target).sweep(manifests, held, this.wallMs());
  }

  /**
   * The backups, of those that nobody can be finishing any more, of which a shard was begun again. Before, what one
   * attempt wrote must stay beside that of another: a driver that was replaced may have its manifest on the way.
   */
  private repeated(keys: string[]): Set<string> {
    const attempts = new Map<string, string>();
    const found = new Set<string>();
    for (const folder of new Set(keys.map(folderOf))) {
      const shard = folderOf(folder);
      const id = idOfKey(`${shard}/`, DATA_PREFIX);
      if (id !== null && attempts.has(shard) && this.isForgotten(id)) found.add(id);
      attempts.set(shard, folder);
    }
    return found;
  }

  /** Objects written by backups `of` that those `by` consist of. */
  private async objectsNeeded(
    by: ReadonlySet<string>,
    of: ReadonlySet<string>,
    { keys, unreadable }: { keys: string[]; unreadable: string[] },
  ): Promise<Set<string>> {
    const kept = new Set<string>();
    for (const id of by) {
      const backup = await this.contentAt(BACKUP_MANIFEST, manifestKey(id), unreadable);
      if (backup === null) continue;
      // The manifests of its shards are all in its own folder: they say it where the backup's own is damaged.
      const shards =
        backup === 'damaged'
          ? keys.filter((key) => key.startsWith(`${DATA_PREFIX}${id}/`) && key.endsWith('/shard.json'))
          : backup.collections
              .flatMap((one) => one.shards)
              .flatMap(({ needs, manifest }) => (needs.some((need) => of.has(need)) ? [manifest.key] : []));
      for (const shard of shards) {
        const manifest = await this.contentAt(SHARD_MANIFEST, shard, unreadable);
        if (manifest === null) unreadable.push(shard);
        if (manifest === 'damaged' || manifest === null) {
          // It may need whatever was written of the same shard.
          for (const key of keys) if (shardIn(key) === shardIn(shard)) kept.add(key);
        } else for (const key of [shard, ...objectsOf(manifest).map((one) => one.key)]) kept.add(key);
      }
    }
    return kept;
  }

  /** The content of an object; what is damaged, or of a later version, is noted. Errors: those of the target. */
  private async contentAt<Content>(
    schema: z.ZodType<Content>,
    key: string,
    unreadable: string[],
  ): Promise<Content | 'damaged' | null> {
    try {
      const bytes = await this.target.get(key, TEXT_BYTES_MAX);
      return bytes === null ? null : contentOf(schema, key, bytes);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.push(key);
      return 'damaged';
    }
  }

  /** `bases`: null where they can't be read. */
  private async claims(unreadable: string[]): Promise<{ id: string; bases: string[] | null; logs: string[] }[]> {
    const claims: { id: string; bases: string[] | null; logs: string[] }[] = [];
    for (const id of await idsUnder(this.target, CLAIMS_PREFIX)) {
      const key = claimKey(id);
      if (this.isForgotten(id)) {
        await this.target.delete(key);
        continue;
      }
      const claim = await this.contentAt(BACKUP_CLAIM, key, unreadable);
      if (claim !== null)
        claims.push(
          claim === 'damaged' ? { id, bases: null, logs: [] } : { id, bases: claim.bases, logs: claim.logs ?? [] },
        );
    }
    return claims;
  }

  private isForgotten(id: string): boolean {
    return this.wallMs() - msOfId(id) > FORGOTTEN_MS;
  }
}

/** The shard that an object of data is of: `<uid>.<shard>`. */
function shardIn(key: string): string | undefined {
  return key.split('/')[2];
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

async function inBatches<Item>(items: Item[], run: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) await Promise.all(items.slice(at, at + AT_ONCE).map(run));
}
