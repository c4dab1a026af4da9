import {
  type BackupClaim,
  type BackupManifest,
  BACKUPS_PREFIX,
  contentOf,
  isUnreadable,
  openedContent,
  sealedText,
  TEXT_BYTES_MAX,
  VOIDS_PREFIX,
} from '../../../shared/backup-store/backup-format';
import type { SealState } from '../../../shared/backup-store/backup-seals';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { BACKUP_CLAIM, BACKUP_MANIFEST } from '../../../shared/backup-store/content-schemas';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { CHECKS_PREFIX, lastCheck } from './backup-checks';
import { claimKey, idsUnder, manifestKey, msOfId, voidKey } from './backup-names';
import { BackupSweep } from './backup-sweep';

/** The time in the name of a backup that is further ahead is of a clock that was wrong. */
const AHEAD_MS = 3_600_000;
/**
 * Backups in which the parts are looked for that another one may build upon: shards remember as many
 * (node/engine/shard/backup/lineage.ts).
 */
const BASES_LOOKED_AT = 16;
/** The same of the newest one that is whole. */
const NEWEST_LOOKED_AT = 100;
/** Backups of which it is read what the last verification found, the newest first. */
const CHECKS_LOOKED_AT = 16;
/**
 * Manifests that this service has not sealed which a look passes over: whoever can write there may put any number
 * before the real ones.
 */
const STRANGE_LOOKED_AT = 10_000;
/** Manifests that are read at once. */
const READ_AT_ONCE = 8;

/** A finished backup as it is in a target. */
export interface StoredBackup {
  manifest: BackupManifest;
  seal: SealState;
  /**
   * Of the manifest, which names all else with its checksum: whoever gives it to others has them take this very backup.
   */
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
 * Who takes a backup claims its base first and then looks whether it is still there; who deletes one makes it void
 * first and then looks for claims. So one of the two sees the other, and no data are removed that somebody builds upon.
 */
export class BackupRepository {
  constructor(
    readonly target: BackupTarget,
    private readonly wallMs: () => number,
  ) {}

  /** Ids of the backups that are there, the newest first. */
  async ids(): Promise<string[]> {
    const [manifests, voids] = [
      await idsUnder(this.target, BACKUPS_PREFIX),
      new Set(await idsUnder(this.target, VOIDS_PREFIX)),
    ];
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
    if (manifest.id !== id)
      throw new QuiverError('storage_damaged', `the backup is damaged: ${manifestKey(id)} is of backup ${manifest.id}`);
    return { manifest, ...rest };
  }

  /**
   * The newest backup that has all that it was to have; null: there is none. One that is sealed by this service comes
   * first; what is ahead of the clock counts for nothing, because its time says nothing. Where many lack something, the
   * earliest of those looked at: the last one that is whole is no newer.
   */
  async newest(): Promise<BackupManifest | null> {
    let unsealed: BackupManifest | null = null;
    let looked = 0;
    let earliest: BackupManifest | null = null;
    for await (const { manifest, seal } of this.readable(NEWEST_LOOKED_AT)) {
      const isWhole = manifest.leftOut === undefined && !this.isAhead(Date.parse(manifest.finishedAt));
      if (seal !== 'sealed') {
        if (isWhole) unsealed ??= manifest;
        continue;
      }
      if (isWhole) return manifest;
      looked += 1;
      earliest = manifest;
    }
    return unsealed ?? (looked === NEWEST_LOOKED_AT ? earliest : null);
  }

  /** Those that can be read, the newest first and none that is ahead of the clock: at most `max` that are sealed. */
  private async *readable(max: number): AsyncIterable<StoredBackup> {
    for await (const { stored } of this.looks(max, (id) => !this.isAhead(msOfId(id))))
      if (stored !== null) yield stored;
  }

  /**
   * All backups, the newest first: at most `max` that this service has sealed, with those of others between them, which
   * do not count, so that they hide none. `stored` is null where a manifest can't be read, for the reason in `error`.
   */
  async *looks(
    max: number,
    isWanted: (id: string) => boolean = () => true,
  ): AsyncIterable<{ id: string; stored: StoredBackup | null; error: string }> {
    const ids = (await this.ids()).filter(isWanted);
    let [sealed, strange] = [0, 0];
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const found = await Promise.all(ids.slice(at, at + READ_AT_ONCE).map(async (id) => this.look(id)));
      for (const look of found) {
        if (look === null) continue;
        if (look.stored?.seal === 'sealed') sealed += 1;
        else strange += 1;
        yield look;
        if (sealed === max || strange === STRANGE_LOOKED_AT) return;
      }
    }
  }

  /** null: there is none any more. */
  private async look(id: string): Promise<{ id: string; stored: StoredBackup | null; error: string } | null> {
    try {
      const stored = await this.load(id);
      return stored && { id, stored, error: '' };
    } catch (error) {
      if (isUnreadable(error)) return { id, stored: null, error: error.message };
      throw error;
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
   * Claims what another backup builds upon, and answers it: of each collection the newest backup that has it, none
   * where there is none. A claim is made once: what a process before claimed is the base of all, since shards and a
   * manifest on its way may be building upon it. What of it is deleted by now is left out, and collections in whose
   * data a verification has found damage. What this service has not sealed is never a base: the seal of the new backup
   * would speak for it.
   */
  async claim(id: string, startedAt: string, wanted: readonly WantedCollection[]): Promise<BackupManifest[]> {
    const key = claimKey(id);
    let claim = await this.claimOf(key);
    if (claim === null) {
      const own: BackupClaim = { id, startedAt, bases: await this.basesFor(wanted) };
      claim = (await this.target.create(key, sealedText(own))) ? own : await this.claimOf(key);
    }
    const bases: BackupManifest[] = [];
    const damaged = claim?.bases.length ? await this.damagedPositions() : new Set();
    for (const claimed of claim?.bases ?? []) {
      const base = await this.unlessUnreadable(claimed);
      if (base?.seal !== 'sealed') continue;
      const collections = base.manifest.collections.filter(
        ({ uid, shards }) => !shards.some(({ needs }) => needs.some((id) => damaged.has(`${id}/${uid}`))),
      );
      bases.push({ ...base.manifest, collections });
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

  /** Where a verification has found damage: the backup that wrote the data, and the uid of the collection. */
  private async damagedPositions(): Promise<Set<string>> {
    const places = new Set<string>();
    const checked = (await idsUnder(this.target, CHECKS_PREFIX)).sort().reverse().slice(0, STRANGE_LOOKED_AT);
    let own = 0;
    for (const id of checked) {
      if (own === CHECKS_LOOKED_AT) break;
      const check = await lastCheck(this.target, id, true);
      // What somebody else put there hides none.
      if (check === null) continue;
      own += 1;
      for (const key of check.damaged) {
        const [, backup, part = ''] = key.split('/');
        places.add(`${backup}/${part.split('.')[0]}`);
      }
    }
    return places;
  }

  /**
   * Keeps the data of backups while a restore reads them, whoever deletes it meanwhile, and the whole logs of
   * collections. `id`: of the restore, in the form of a backup's; `isHeld`: a call before has succeeded; `logs`: uids
   * of collections. Errors: not_found; those of the target.
   */
  async hold(
    id: string,
    backups: string[],
    { startedAt, isHeld, logs = [] }: { startedAt: string; isHeld: boolean; logs?: string[] },
  ): Promise<void> {
    const isClaimed = (await this.target.get(claimKey(id), TEXT_BYTES_MAX)) !== null;
    if (!isClaimed)
      await this.target.put(
        claimKey(id),
        sealedText({ id, startedAt, bases: backups, ...(logs.length > 0 && { logs }) } satisfies BackupClaim),
      );
    for (const backup of backups) {
      // What is held may be void, but it stays. A claim alone says nothing: who made it may have come too late, and
      // have ended before it looked, while a sweep has removed some of the data.
      const isThere =
        isHeld && isClaimed
          ? (await this.target.get(manifestKey(backup), TEXT_BYTES_MAX)) !== null
          : (await this.find(backup)) !== null;
      if (!isThere) throw new QuiverError('not_found', `backup "${backup}" does not exist any more`);
    }
  }

  async release(id: string): Promise<void> {
    await this.target.delete(claimKey(id));
  }

  /**
   * Puts the backup in force, and answers what it is: the manifest of who came first, which stays. Another driver's
   * names data that are there, and stay, because both have the same claim
   * (docs/architecture/backup.md). Errors: unavailable when somebody made it void meanwhile;
   * storage_damaged when the one that came first is not sealed by this service.
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

  /** As BackupSweep. */
  sweep(): Promise<string[]> {
    return new BackupSweep(this.target, this.wallMs).run();
  }

  private async claimOf(key: string): Promise<BackupClaim | null> {
    const bytes = await this.target.get(key, TEXT_BYTES_MAX);
    return bytes === null ? null : contentOf(BACKUP_CLAIM, key, bytes);
  }

  /** Whether a time is of a clock that was ahead of this one's. */
  isAhead(ms: number): boolean {
    return ms - this.wallMs() > AHEAD_MS;
  }
}

/** Of a backup's manifest that somebody else has put where this service was to put it. */
export function notOurs(id: string): QuiverError {
  return new QuiverError(
    'storage_damaged',
    `backups/${id}.json is not sealed by this service, which was about to write it: somebody else, or an earlier version, has`,
  );
}
