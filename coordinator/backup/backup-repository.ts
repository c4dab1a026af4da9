import type { z } from 'zod';
import {
  type BackupClaim,
  type BackupManifest,
  BACKUPS_PREFIX,
  CLAIMS_PREFIX,
  contentOf,
  DATA_PREFIX,
  idOfKey,
  isUnreadable,
  objectsOf,
  openedContent,
  sealedText,
  TEXT_BYTES_MAX,
  VOIDS_PREFIX,
} from '../../shared/backup/backup-format';
import type { SealState } from '../../shared/backup/backup-seals';
import type { BackupTarget } from '../../shared/backup/backup-target';
import { BACKUP_CLAIM, BACKUP_MANIFEST, SHARD_MANIFEST } from '../../shared/backup/content-schemas';
import { QuiverError } from '../../shared/errors/quiver-error';
import { checkKey } from './backup-checks';
import { ShippedLogs } from './shipped-logs';

/** A process that stood still for longer must not go on with a backup; and what is void is remembered for as long. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** The time in the name of a backup that is further ahead is of a clock that was wrong. */
const AHEAD_MS = 3_600_000;
/** Backups in which the parts are looked for that another one may build upon: shards remember as many (node/shard/backup/lineage.ts). */
const BASES_LOOKED_AT = 16;
/** The same of the newest one that is whole. */
const NEWEST_LOOKED_AT = 100;
/** Objects that are removed or read at once. */
const AT_ONCE = 8;

/** A finished backup as it is in a target. */
export interface StoredBackup {
  manifest: BackupManifest;
  seal: SealState;
  /** Of the manifest, which names all else with its checksum: whoever gives it to others has them take this very backup. */
  sha256: string;
}

/** What a backup is to have of a collection. */
export interface WantedCollection {
  uid: string;
  shards: number;
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

  /** null: there is no such backup. Errors: storage_damaged, and the others of isUnreadable. */
  async find(id: string): Promise<BackupManifest | null> {
    return (await this.load(id))?.manifest ?? null;
  }

  /** The same with what is known of who made it. */
  async load(id: string): Promise<StoredBackup | null> {
    const bytes = await this.target.get(manifestKey(id), TEXT_BYTES_MAX);
    if (bytes === null || (await this.target.get(voidKey(id), TEXT_BYTES_MAX)) !== null) return null;
    return this.opened(id, bytes);
  }

  /** A backup that somebody holds, deleted or not. Errors: storage_damaged, also where there is none. */
  async held(id: string): Promise<StoredBackup> {
    const bytes = await this.target.get(manifestKey(id), TEXT_BYTES_MAX);
    if (bytes === null) throw new QuiverError('storage_damaged', `there is no backup ${id} any more`);
    return this.opened(id, bytes);
  }

  private opened(id: string, bytes: Buffer): StoredBackup {
    const { content: manifest, ...rest } = openedContent(BACKUP_MANIFEST, this.target.seals, manifestKey(id), bytes);
    if (manifest.id !== id) throw new QuiverError('storage_damaged', `the backup is damaged: ${manifestKey(id)} is of backup ${manifest.id}`);
    return { manifest, ...rest };
  }

  /**
   * The newest backup that has all that it was to have; null: there is none. One that is sealed by this service comes first; what
   * is ahead of the clock counts for nothing, because its time says nothing.
   */
  async newest(): Promise<BackupManifest | null> {
    let unsealed: BackupManifest | null = null;
    for await (const { manifest, seal } of this.readable(NEWEST_LOOKED_AT)) {
      if (manifest.leftOut !== undefined || this.isAhead(Date.parse(manifest.finishedAt))) continue;
      if (seal === 'sealed') return manifest;
      unsealed ??= manifest;
    }
    return unsealed;
  }

  /** Those that can be read, the newest first, of at most `max` that are not ahead of the clock. */
  private async *readable(max: number): AsyncIterable<StoredBackup> {
    const ids = (await this.ids()).filter((id) => !this.isAhead(msOfId(id)));
    for (const id of ids.slice(0, max)) {
      const found = await this.unlessUnreadable(id);
      if (found !== null) yield found;
    }
  }

  /** null: there is no such backup, or it can't be used. */
  private async unlessUnreadable(id: string): Promise<StoredBackup | null> {
    return this.load(id).catch((error: unknown) => {
      if (isUnreadable(error)) return null;
      throw error;
    });
  }

  /**
   * Claims what another backup builds upon, and answers it: of each collection the newest backup that has it, none where there is
   * none. A claim is made once: what a process before claimed is the base of all, since shards and a manifest on its way may be
   * building upon it. What of it is deleted by now is left out. What this service has not sealed is never a base: the seal of
   * the new backup would speak for it.
   */
  async claim(id: string, startedAt: string, wanted: readonly WantedCollection[]): Promise<BackupManifest[]> {
    const key = claimKey(id);
    let claim = await this.claimOf(key);
    if (claim === null) {
      const own: BackupClaim = { id, startedAt, bases: await this.basesFor(wanted) };
      claim = (await this.target.create(key, sealedText(own))) ? own : await this.claimOf(key);
    }
    const bases: BackupManifest[] = [];
    for (const claimed of claim?.bases ?? []) {
      const base = await this.unlessUnreadable(claimed);
      if (base?.seal === 'sealed') bases.push(base.manifest);
    }
    return bases;
  }

  private async basesFor(wanted: readonly WantedCollection[]): Promise<string[]> {
    const missing = new Map(wanted.map(({ uid, shards }) => [uid, shards]));
    const bases: string[] = [];
    if (missing.size === 0) return bases;
    for await (const { manifest, seal } of this.readable(BASES_LOOKED_AT)) {
      if (seal !== 'sealed') continue;
      const found = manifest.collections.filter(({ uid, shards }) => missing.get(uid) === shards.length);
      for (const { uid } of found) missing.delete(uid);
      if (found.length > 0) bases.push(manifest.id);
      if (missing.size === 0) break;
    }
    return bases;
  }

  /**
   * Keeps the data of backups while a restore reads them, whoever deletes it meanwhile, and the whole logs of collections. `id`:
   * of the restore, in the form of a backup's; `isHeld`: a call before has succeeded; `logs`: uids of collections. Errors: not_found; those of the target.
   */
  async hold(id: string, backups: string[], { startedAt, isHeld, logs = [] }: { startedAt: string; isHeld: boolean; logs?: string[] }): Promise<void> {
    const isClaimed = (await this.target.get(claimKey(id), TEXT_BYTES_MAX)) !== null;
    if (!isClaimed) await this.target.put(claimKey(id), sealedText({ id, startedAt, bases: backups, ...(logs.length > 0 && { logs }) } satisfies BackupClaim));
    for (const backup of backups) {
      // What is held may be void, but it stays. A claim alone says nothing: who made it may have come too late, and have ended
      // before it looked, while a sweep has removed some of the data.
      const isThere = isHeld && isClaimed ? (await this.target.get(manifestKey(backup), TEXT_BYTES_MAX)) !== null : (await this.find(backup)) !== null;
      if (!isThere) throw new QuiverError('not_found', `backup "${backup}" does not exist any more`);
    }
  }

  async release(id: string): Promise<void> {
    await this.target.delete(claimKey(id));
  }

  /**
   * Puts the backup in force, and answers what it is: the manifest of who came first, which stays. Another driver's names
   * data that are there, and stay, because both have the same claim (docs/decisions/0051-backups-published-once.md). Errors:
   * unavailable when somebody made it void meanwhile; storage_damaged when the one that came first is not sealed by this service.
   */
  async publish(manifest: BackupManifest): Promise<BackupManifest> {
    const key = manifestKey(manifest.id);
    await this.target.create(key, sealedText(manifest, { seals: this.target.seals, key }));
    const inForce = await this.load(manifest.id);
    if (inForce === null) throw new QuiverError('unavailable', 'the backup was given up meanwhile');
    if (inForce.seal !== 'sealed') throw notOurs(manifest.id);
    await this.target.delete(claimKey(manifest.id));
    return inForce.manifest;
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
      await this.target.delete(checkKey(id));
      if (this.isForgotten(id)) await this.target.delete(voidKey(id));
    }
    return [...new Set(unreadable)];
  }

  /** Removes what of the logs no backup leads to, and nobody holds (`held`: uids of collections). Where a backup can't be read, nothing is removed. */
  private async sweepLogs(present: string[], held: ReadonlySet<string>, unreadable: string[]): Promise<void> {
    const manifests: BackupManifest[] = [];
    for (const id of present) {
      const manifest = await this.contentAt(BACKUP_MANIFEST, manifestKey(id), unreadable);
      if (manifest === 'damaged') return;
      if (manifest !== null) manifests.push(manifest);
    }
    await new ShippedLogs(this.target).sweep(manifests, held, this.wallMs());
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
      const backup = await this.contentAt(BACKUP_MANIFEST, manifestKey(id), unreadable);
      if (backup === null) continue;
      // The manifests of its shards are all in its own folder: they say it where the backup's own is damaged.
      const shards =
        backup === 'damaged'
          ? keys.filter((key) => key.startsWith(`${DATA_PREFIX}${id}/`) && key.endsWith('/shard.json'))
          : backup.collections.flatMap((one) => one.shards).flatMap(({ needs, manifest }) => (needs.some((need) => of.has(need)) ? [manifest.key] : []));
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
  private async contentAt<Content>(schema: z.ZodType<Content>, key: string, unreadable: string[]): Promise<Content | 'damaged' | null> {
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
    for (const { key } of await this.target.list(CLAIMS_PREFIX)) {
      const id = idOfKey(key, CLAIMS_PREFIX);
      if (id === null) continue;
      if (this.isForgotten(id)) {
        await this.target.delete(key);
        continue;
      }
      const claim = await this.contentAt(BACKUP_CLAIM, key, unreadable);
      if (claim !== null) claims.push(claim === 'damaged' ? { id, bases: null, logs: [] } : { id, bases: claim.bases, logs: claim.logs ?? [] });
    }
    return claims;
  }

  private async claimOf(key: string): Promise<BackupClaim | null> {
    const bytes = await this.target.get(key, TEXT_BYTES_MAX);
    return bytes === null ? null : contentOf(BACKUP_CLAIM, key, bytes);
  }

  private async idsUnder(prefix: string): Promise<string[]> {
    return (await this.target.list(prefix)).flatMap(({ key }) => idOfKey(key, prefix) ?? []);
  }

  private isForgotten(id: string): boolean {
    return this.wallMs() - msOfId(id) > FORGOTTEN_MS;
  }

  /** Whether a time is of a clock that was ahead of this one's. */
  isAhead(ms: number): boolean {
    return ms - this.wallMs() > AHEAD_MS;
  }
}

/** Of a backup's manifest that somebody else has put where this service was to put it. */
export function notOurs(id: string): QuiverError {
  return new QuiverError('storage_damaged', `backups/${id}.json is not sealed by this service, which was about to write it: somebody else, or an earlier version, has`);
}

/** When a backup began, by its id. */
export function msOfId(id: string): number {
  return Date.parse(id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, '$1-$2-$3T$4:$5:$6Z'));
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
