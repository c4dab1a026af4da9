import {
  type BackupClaim,
  type BackupManifest,
  BACKUPS_PREFIX,
  type CheckedObject,
  CLAIMS_PREFIX,
  contentOf,
  DATA_PREFIX,
  getChecked,
  idOfKey,
  objectsOf,
  sealedText,
  type ShardManifest,
  VOIDS_PREFIX,
} from '../../shared/backup/backup-format';
import type { BackupTarget } from '../../shared/backup/backup-target';
import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import { ShippedLogs } from './shipped-logs';
import type { Pace } from '../../shared/time/pace';

const CHECKS_PREFIX = 'checks/';
/** A process that stood still for longer must not go on with a backup; and what is void is remembered for as long. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Objects that are removed or read at once. */
const AT_ONCE = 8;

/** What a verification found. */
export interface BackupCheck {
  checkedAt: string;
  objects: number;
  bytes: number;
  /** Names of objects that are missing or differ from what was written; the first of them. */
  damaged: string[];
}

/**
 * The backups in one target. A backup is there from when its manifest is, until a void is beside it: both are single
 * objects, so there is nothing in between.
 *
 * Who takes a backup claims its base first and then looks whether it is still there; who deletes one makes it void first
 * and then looks for claims. So one of the two sees the other, and no data are removed that somebody builds upon.
 */
export class BackupRepository {
  constructor(
    readonly target: BackupTarget,
    private readonly wallMs: () => number,
  ) {}

  /** Ids of the backups that are there, the newest first. */
  async ids(): Promise<string[]> {
    const [manifests, voids] = [await this.idsUnder(BACKUPS_PREFIX), new Set(await this.idsUnder(VOIDS_PREFIX))];
    return manifests.filter((id) => !voids.has(id)).sort((a, b) => (a < b ? 1 : -1));
  }

  /** null: there is no such backup. Errors: storage_damaged. */
  async find(id: string): Promise<BackupManifest | null> {
    const bytes = await this.target.get(manifestKey(id));
    if (bytes === null || (await this.target.get(voidKey(id))) !== null) return null;
    return contentOf<BackupManifest>(manifestKey(id), bytes);
  }

  /** A backup that somebody holds, deleted or not. Errors: storage_damaged, also where there is none. */
  async held(id: string): Promise<BackupManifest> {
    const bytes = await this.target.get(manifestKey(id));
    if (bytes === null) throw new QuiverError('storage_damaged', `there is no backup ${id} any more`);
    return contentOf<BackupManifest>(manifestKey(id), bytes);
  }

  /** The newest backup that can be read; null: there is none. */
  async newest(): Promise<BackupManifest | null> {
    for (const id of await this.ids()) {
      const found = await this.find(id).catch((error: unknown) => {
        if (isQuiverError(error) && error.kind === 'storage_damaged') return null;
        throw error;
      });
      if (found !== null) return found;
    }
    return null;
  }

  /**
   * Claims the newest backup as the base of another one, and answers it; null: there is none. A claim is made once: what a
   * process before claimed is the base of all, since shards and a manifest on its way may be building upon it. Where that is
   * deleted by now, there is none.
   */
  async claim(id: string, startedAt: string): Promise<BackupManifest | null> {
    const key = claimKey(id);
    let claim = await this.claimOf(key);
    if (claim === null) {
      const newest = await this.newest();
      const own: BackupClaim = { id, startedAt, bases: newest === null ? [] : [newest.id] };
      claim = (await this.target.create(key, sealedText(own))) ? own : await this.claimOf(key);
    }
    for (const claimed of claim?.bases ?? []) {
      const base = await this.find(claimed);
      if (base !== null) return base;
    }
    return null;
  }

  /**
   * Keeps the data of backups while a restore reads them, whoever deletes it meanwhile, and the whole logs of collections. `id`:
   * of the restore, in the form of a backup's; `isHeld`: a call before has succeeded; `logs`: uids of collections. Errors: not_found; those of the target.
   */
  async hold(id: string, backups: string[], { startedAt, isHeld, logs = [] }: { startedAt: string; isHeld: boolean; logs?: string[] }): Promise<void> {
    const isClaimed = (await this.target.get(claimKey(id))) !== null;
    if (!isClaimed) await this.target.put(claimKey(id), sealedText({ id, startedAt, bases: backups, ...(logs.length > 0 && { logs }) } satisfies BackupClaim));
    for (const backup of backups) {
      // What is held may be void, but it stays. A claim alone says nothing: who made it may have come too late, and have ended
      // before it looked, while a sweep has removed some of the data.
      const isThere = isHeld && isClaimed ? (await this.target.get(manifestKey(backup))) !== null : (await this.find(backup)) !== null;
      if (!isThere) throw new QuiverError('not_found', `backup "${backup}" does not exist any more`);
    }
  }

  async release(id: string): Promise<void> {
    await this.target.delete(claimKey(id));
  }

  /**
   * Puts the backup in force, and answers what it is: the manifest of who came first, which stays. Another driver's names
   * data that are there, and stay, because both have the same claim (docs/decisions/0051-backups-published-once.md). Errors:
   * unavailable when somebody made it void meanwhile.
   */
  async publish(manifest: BackupManifest): Promise<BackupManifest> {
    await this.target.create(manifestKey(manifest.id), sealedText(manifest));
    const inForce = await this.find(manifest.id);
    if (inForce === null) throw new QuiverError('unavailable', 'the backup was given up meanwhile');
    await this.target.delete(claimKey(manifest.id));
    return inForce;
  }

  /** From here on there is no such backup, whatever somebody still does for it. */
  async makeVoid(id: string): Promise<void> {
    await this.target.put(voidKey(id), sealedText({ id, at: new Date(this.wallMs()).toISOString() }));
    await this.target.delete(claimKey(id));
  }

  /**
   * Removes what no backup needs, and none that is under way. May be given up and begun again at any moment. Where something
   * can't be read that says what is needed, all that it may need stays; its names are answered.
   */
  async sweep(): Promise<string[]> {
    const unreadable: string[] = [];
    // In this order. Whoever wrote what is listed first had claimed before. Whoever claims what is void later than that is
    // listed finds it void, and lets it be. And what is claimed no more is in force by now, and then it is listed.
    const objects = await this.target.list(DATA_PREFIX);
    const voids = new Set(await this.idsUnder(VOIDS_PREFIX));
    const claims = await this.claims(unreadable);
    const claimed = new Set(claims.map(({ id }) => id));
    const manifests = await this.idsUnder(BACKUPS_PREFIX);
    // A claim that can't be read may be of any backup that was there when it began.
    const needed = new Set(claims.flatMap(({ id, bases }) => bases ?? manifests.filter((other) => other < id)));
    const present = manifests.filter((id) => !voids.has(id) || needed.has(id));
    const data = new Map<string, string[]>();
    const repeated = this.repeated(objects.map(({ key }) => key));
    for (const { key } of objects) {
      const id = idOfKey(key, DATA_PREFIX);
      if (id !== null && (!present.includes(id) || repeated.has(id)) && !claimed.has(id)) data.set(id, [...(data.get(id) ?? []), key]);
    }
    const kept = await this.objectsNeeded(present, new Set(data.keys()), { keys: objects.map(({ key }) => key), unreadable });
    for (const keys of data.values()) {
      await inBatches(
        keys.filter((key) => !kept.has(key)),
        (key) => this.target.delete(key),
      );
    }
    // A claim that can't be read may be of any log.
    if (claims.every(({ bases }) => bases !== null)) await this.sweepLogs(present, new Set(claims.flatMap(({ logs }) => logs)), unreadable);
    for (const id of voids) {
      if (needed.has(id)) continue;
      await this.target.delete(manifestKey(id));
      await this.target.delete(CHECKS_PREFIX + id + '.json');
      if (this.isForgotten(id)) await this.target.delete(voidKey(id));
    }
    return [...new Set(unreadable)];
  }

  /** Removes what of the logs no backup leads to, and nobody holds (`held`: uids of collections). Where a backup can't be read, nothing is removed. */
  private async sweepLogs(present: string[], held: ReadonlySet<string>, unreadable: string[]): Promise<void> {
    const manifests: BackupManifest[] = [];
    for (const id of present) {
      const manifest = await this.readable<BackupManifest>(manifestKey(id), unreadable);
      if (manifest === 'damaged') return;
      if (manifest !== null) manifests.push(manifest);
    }
    await new ShippedLogs(this.target).sweep(manifests, held, this.wallMs());
  }

  /** Reads every object of a backup and compares it with its checksum. Errors: not_found, those of the target. */
  async verify(id: string, onProgress: (objects: number, of: number) => void, how: { pace: Pace; stop: AbortSignal }): Promise<BackupCheck> {
    const manifest = await this.find(id);
    if (manifest === null) throw new QuiverError('not_found', `there is no backup ${id}`);
    const damaged: string[] = [];
    const objects: CheckedObject[] = [];
    for (const shard of manifest.collections.flatMap(({ shards }) => shards)) {
      objects.push(shard.manifest);
      try {
        objects.push(...objectsOf(contentOf<ShardManifest>(shard.manifest.key, await getChecked(this.target, shard.manifest))));
      } catch (error) {
        if (!isQuiverError(error) || error.kind !== 'storage_damaged') throw error;
      }
    }
    let bytes = 0;
    let done = 0;
    for (let at = 0; at < objects.length; at += AT_ONCE) {
      if (how.stop.aborted) throw new QuiverError('unavailable', 'the verification was stopped');
      const batch = objects.slice(at, at + AT_ONCE);
      await Promise.all(
        batch.map(async (object) => {
          try {
            bytes += (await getChecked(this.target, object)).length;
            await how.pace.pay(object.bytes, how.stop);
          } catch (error) {
            if (!isQuiverError(error) || error.kind !== 'storage_damaged') throw error;
            damaged.push(object.key);
          }
        }),
      );
      done += batch.length;
      onProgress(done, objects.length);
    }
    const check = { checkedAt: new Date(this.wallMs()).toISOString(), objects: objects.length, bytes, damaged: damaged.sort().slice(0, 100) };
    await this.target.put(CHECKS_PREFIX + id + '.json', sealedText(check));
    return check;
  }

  /** What the last verification found; null: there was none. */
  async check(id: string): Promise<BackupCheck | null> {
    const key = CHECKS_PREFIX + id + '.json';
    const bytes = await this.target.get(key);
    return bytes === null ? null : contentOf<BackupCheck>(key, bytes);
  }

  /**
   * The backups, of those that nobody can be finishing any more, of which a shard was begun anew. Before, what one attempt wrote
   * must stay beside that of another: a driver that was replaced may have its manifest on the way.
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
  private async objectsNeeded(by: string[], of: ReadonlySet<string>, { keys, unreadable }: { keys: string[]; unreadable: string[] }): Promise<Set<string>> {
    const kept = new Set<string>();
    for (const id of by) {
      const backup = await this.readable<BackupManifest>(manifestKey(id), unreadable);
      if (backup === null) continue;
      // The manifests of its shards are all in its own folder: they say it where the backup's own is damaged.
      const shards =
        backup === 'damaged'
          ? keys.filter((key) => key.startsWith(`${DATA_PREFIX}${id}/`) && key.endsWith('/shard.json'))
          : backup.collections.flatMap((one) => one.shards).flatMap(({ needs, manifest }) => (needs.some((need) => of.has(need)) ? [manifest.key] : []));
      for (const shard of shards) {
        const manifest = await this.readable<ShardManifest>(shard, unreadable);
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
  private async readable<Content>(key: string, unreadable: string[]): Promise<Content | 'damaged' | null> {
    const bytes = await this.target.get(key);
    if (bytes === null) return null;
    try {
      return contentOf<Content>(key, bytes);
    } catch (error) {
      if (!isQuiverError(error)) throw error;
      unreadable.push(key);
      return 'damaged';
    }
  }

  /** `bases`: null where they can't be read. */
  private async claims(unreadable: string[]): Promise<{ id: string; bases: string[] | null; logs: string[] }[]> {
    const claims: { id: string; bases: string[] | null; logs: string[] }[] = [];
    for (const { key } of await this.target.list(CLAIMS_PREFIX)) {
      const id = idOfKey(key, CLAIMS_PREFIX);
      if (id === null) continue;
      if (this.isForgotten(id)) {
        await this.target.delete(key);
        continue;
      }
      const claim = await this.readable<BackupClaim>(key, unreadable);
      if (claim !== null) claims.push(claim === 'damaged' ? { id, bases: null, logs: [] } : { id, bases: claim.bases, logs: claim.logs ?? [] });
    }
    return claims;
  }

  private async claimOf(key: string): Promise<BackupClaim | null> {
    const bytes = await this.target.get(key);
    return bytes === null ? null : contentOf<BackupClaim>(key, bytes);
  }

  private async idsUnder(prefix: string): Promise<string[]> {
    return (await this.target.list(prefix)).flatMap(({ key }) => idOfKey(key, prefix) ?? []);
  }

  private isForgotten(id: string): boolean {
    const startedMs = Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'));
    return this.wallMs() - startedMs > FORGOTTEN_MS;
  }
}

function manifestKey(id: string): string {
  return `${BACKUPS_PREFIX}${id}.json`;
}

function voidKey(id: string): string {
  return `${VOIDS_PREFIX}${id}.json`;
}

function claimKey(id: string): string {
  return `${CLAIMS_PREFIX}${id}.json`;
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
