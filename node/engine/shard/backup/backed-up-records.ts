import {
  BACKUPS_PREFIX,
  type BackedUpCollection,
  type CheckedObject,
  contentOf,
  getChecked,
  openedContent,
  type ShardManifest,
  TEXT_BYTES_MAX,
} from '../../../../shared/backup-store/backup-format';
import { BACKUP_MANIFEST, SHARD_MANIFEST } from '../../../../shared/backup-store/content-schemas';
import type { BackupTarget } from '../../../../shared/backup-store/backup-target';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { type DedupRecord, dedupFromBytes } from '../../../../shared/contract/writes/dedup-record';
import { LiveRecnos } from './live-recnos';
import { entriesIn, type NumberedEntry } from './numbered-entries';
import { inOrder } from './read-ahead';

const DEDUP_PAGE = 256;

/**
 * A collection in a finished backup. `sha256`: the checksum of the backup's manifest as whoever asked for the restore
 * has judged it; absent: an earlier program asked, and takes what is there. Errors: storage_damaged, also where there
 * is none; those of the target.
 */
export async function backedUpCollection(
  target: BackupTarget,
  backup: string,
  uid: string,
  sha256?: string,
): Promise<BackedUpCollection> {
  const key = `${BACKUPS_PREFIX}${backup}.json`;
  const bytes = await target.get(key, TEXT_BYTES_MAX);
  if (bytes === null) throw new QuiverError('storage_damaged', `there is no backup ${backup} any more`);
  const { content, sha256: found } = openedContent(BACKUP_MANIFEST, target.seals, key, bytes);
  if (sha256 !== undefined && sha256 !== found)
    throw new QuiverError('storage_damaged', `backup ${backup} is not what it was when the restore was asked for`);
  const collection = content.collections.find((one) => one.uid === uid);
  if (collection === undefined) throw new QuiverError('storage_damaged', `the collection is not in backup ${backup}`);
  return collection;
}

export async function shardManifest(target: BackupTarget, object: CheckedObject): Promise<ShardManifest> {
  return contentOf(SHARD_MANIFEST, object.key, await getChecked(target, object));
}

/**
 * The records of a shard in the order of their numbers, in pages of a segment. Errors: storage_damaged, those of the
 * target.
 */
export async function* liveRecords(target: BackupTarget, manifest: ShardManifest): AsyncIterable<NumberedEntry[]> {
  const live = new LiveRecnos();
  for (const part of manifest.live) {
    const bytes = await getChecked(target, part);
    await live.addPart(bytes).catch((cause: unknown) => {
      throw unreadable(part, cause);
    });
  }
  let left = manifest.items;
  let before = -1;
  for await (const { object: segment, bytes } of inOrder(target, manifest.segments)) {
    const page: NumberedEntry[] = [];
    try {
      for (const entry of entriesIn(bytes)) {
        before = following(before, entry);
        if (live.has(entry.number)) page.push(entry);
      }
    } catch (cause) {
      throw unreadable(segment, cause);
    }
    left -= page.length;
    yield page;
  }
  if (left !== 0)
    throw new QuiverError(
      'storage_damaged',
      `the backup is damaged: a shard lacks ${left} of its ${manifest.items} items`,
    );
}

/** The journal of a shard. Errors: as liveRecords. */
export async function* journalEntries(target: BackupTarget, manifest: ShardManifest): AsyncIterable<NumberedEntry[]> {
  let before = -1;
  for await (const { object: part, bytes } of inOrder(target, manifest.journal)) {
    try {
      const page = [...entriesIn(bytes)];
      for (const entry of page) before = following(before, entry);
      yield page;
    } catch (cause) {
      throw unreadable(part, cause);
    }
  }
}

/** The marks of a shard by their numbers, in pages. Errors: as liveRecords. */
export async function* dedupRecords(target: BackupTarget, manifest: ShardManifest): AsyncIterable<DedupRecord[]> {
  const all: NumberedEntry[] = [];
  for await (const { object: part, bytes } of inOrder(target, manifest.marks ?? [])) {
    try {
      for (const entry of entriesIn(bytes)) all.push(entry);
    } catch (cause) {
      throw unreadable(part, cause);
    }
  }
  all.sort((a, b) => a.number - b.number);
  for (let at = 0; at < all.length; at += DEDUP_PAGE)
    yield all.slice(at, at + DEDUP_PAGE).map(({ value }) => dedupFromBytes(value));
}

/**
 * Entries go into the store as sorted tables. Throws a plain Error for one that does not come behind the one before.
 */
function following(before: number, { number }: NumberedEntry): number {
  if (!Number.isSafeInteger(number) || number <= before) throw new Error('an entry is out of order');
  return number;
}

function unreadable({ key }: CheckedObject, cause: unknown): QuiverError {
  return new QuiverError('storage_damaged', `the backup is damaged: ${key} is unreadable`, { cause });
}
