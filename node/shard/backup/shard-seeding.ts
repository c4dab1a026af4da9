import { access, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BackedUpCollection, getChecked, type SavedIndex, type ShardManifest } from '../../../shared/backup/backup-format';
import type { BackupTarget } from '../../../shared/backup/backup-target';
import { isQuiverError, QuiverError } from '../../../shared/errors/quiver-error';
import type { ShardSeed } from '../../../shared/shard/shard-backup';
import type { ShardSpec } from '../../../shared/shard/shard-client';
import { shardOf } from '../../../shared/shard/shard-of';
import { makeStableFolder, syncFolder } from '../../../shared/files/stable-folder';
import type { KeyValueChange, KeyValueStore } from '../../kv/key-value-store';
import { itemKey, journalKey, orderKey, SPEC_KEY, VERSIONS_KEY } from '../../records/record-keys';
import { movedRecordBytes, placeOfRecordBytes } from '../../records/record-codec';
import { decodedRecord } from '../../records/record-store';
import { seedChanges } from '../../records/seed-position';
import { specTextLike } from '../../records/shard-format';
import { versionToBytes } from '../../records/version-count';
import { type Manifest, writeManifest } from '../checkpoint';
import type { ShardOptions } from '../shard-options';
import { PatientTarget } from './patient-target';
import { backedUpCollection, journalEntries, liveRecords, shardManifest } from './backed-up-records';

/** In the folder of a shard as long as it is not filled. */
const UNFINISHED_FILE = 'seeding';
/** Bytes of one batch: small enough that others get their turn between two. */
const BATCH_BYTES = 512 * 1024;
const INDEX_FILE = /^(?:checkpoint-\d{1,15}\/(?:directory|filters|keywords)|vectors\/(?:save-\d{1,15}-\d{1,15}\.index|originals-\d{1,15}\.f32))$/;

/** Removes what is left of a seeding that a crash interrupted. */
export async function removeUnfinished(folder: string): Promise<void> {
  if (await isThere(join(folder, UNFINISHED_FILE))) await rm(folder, { recursive: true, force: true });
}

/**
 * Fills the folder of a new shard from a backup, so that it opens as if it had taken those writes itself. Nothing is done
 * where there are records already. A folder that was not filled to the end is removed by the next opening.
 *
 * What a shard begins with follows from the seed alone: every replica begins with the same records, at the same place of
 * the log. Errors: invalid_parameter for a backup that can't be used; those of the target and of the disk.
 */
export async function seedShard(
  folder: string,
  spec: ShardSpec & { seed: ShardSeed },
  options: Pick<ShardOptions, 'openStore' | 'backups' | 'logger'>,
  ended = new AbortController().signal,
): Promise<void> {
  try {
    await seed(folder, spec, options, ended);
  } catch (error) {
    // Damage of the backup says nothing about what is stored here.
    if (isQuiverError(error) && error.kind === 'storage_damaged') throw new QuiverError('invalid_parameter', error.message, { cause: error });
    throw error;
  }
}

async function seed(folder: string, spec: ShardSpec & { seed: ShardSeed }, options: Pick<ShardOptions, 'openStore' | 'backups' | 'logger'>, ended: AbortSignal): Promise<void> {
  if (await isThere(join(folder, 'records'))) return;
  if (options.backups === undefined) throw new QuiverError('storage_failed', 'this process has no place for backups');
  const { target: name, backup, collectionUid } = spec.seed;
  const target = new PatientTarget(options.backups.open(name), { ended, log: options.logger, patience: options.backups.patience });
  const collection = await backedUpCollection(target, backup, collectionUid);
  await makeStableFolder(folder);
  const marker = await open(join(folder, UNFINISHED_FILE), 'w');
  await marker.sync();
  await marker.close();
  await syncFolder(folder);
  const store = await options.openStore(join(folder, 'records'));
  let whole: ShardManifest | null;
  try {
    whole = await new Filling(store, target, spec).run(collection);
  } finally {
    await store.close();
  }
  if (whole?.index) await installIndex(folder, target, whole.index, options);
  await syncFolder(join(folder, 'records'));
  await rm(join(folder, UNFINISHED_FILE));
  await syncFolder(folder);
  options.logger.info({ collectionUid: spec.collectionUid, shard: spec.shard, backup, withIndex: whole?.index !== null && whole !== null }, 'a shard was restored from a backup');
}

/** Writes the records of a new shard. */
class Filling {
  private batch: KeyValueChange[] = [];
  private batchBytes = 0;
  /** The highest version that any of the shards before gave; null: none counted. */
  private versions: number | null = null;

  constructor(
    private readonly store: KeyValueStore,
    private readonly target: BackupTarget,
    private readonly spec: ShardSpec & { seed: ShardSeed },
  ) {}

  /** The shard that was taken over as it is; null for one that is put together of items of several. */
  async run(collection: BackedUpCollection): Promise<ShardManifest | null> {
    const { spec } = this;
    const { shards } = spec.seed;
    const count = collection.shards.length;
    let whole: ShardManifest | null = null;
    let stored = '';
    if (count === shards) {
      whole = await shardManifest(this.target, collection.shards[spec.shard].manifest);
      stored = whole.spec;
      await this.takeAll(whole);
    } else {
      // An item's hash leaves the same rest by a common divisor of both numbers: other shards have none of this one's.
      const step = commonDivisor(count, shards);
      let recno = 0;
      for (let from = spec.shard % step; from < count; from += step) {
        const source = await shardManifest(this.target, collection.shards[from].manifest);
        // A later format of any of them counts.
        if (source.spec > stored) stored = source.spec;
        recno = await this.takeOwn(source, recno);
      }
    }
    this.put(SPEC_KEY, Buffer.from(specTextLike(spec, stored)));
    if (this.versions !== null) this.put(VERSIONS_KEY, versionToBytes(this.versions));
    this.batch.push(...seedChanges());
    await this.store.write(this.batch, { sync: true });
    return whole;
  }

  private async takeAll(manifest: ShardManifest): Promise<void> {
    // What is not stored follows from the items, and they are all here.
    this.versions = manifest.versions ?? null;
    for await (const page of liveRecords(this.target, manifest)) {
      for (const { number, value } of page) await this.takeRecord(number, value);
    }
    for await (const page of journalEntries(this.target, manifest)) {
      for (const { number, value } of page) this.put(journalKey(number), value);
      await this.flush(BATCH_BYTES);
    }
  }

  /** The items of this shard, under numbers and in slots of its own. */
  private async takeOwn(manifest: ShardManifest, lastRecno: number): Promise<number> {
    let recno = lastRecno;
    const isCounted = typeof manifest.versions === 'number';
    if (isCounted) this.raiseVersions(manifest.versions!);
    for await (const page of liveRecords(this.target, manifest)) {
      for (const { value } of page) {
        const { externalId, stamp, version } = decodedRecord(value, placeOfRecordBytes);
        // Those of others, too: one of this shard may have gone when that was the only trace of its version.
        if (isCounted) this.raiseVersions(version || stamp);
        if (shardOf(externalId, this.spec.seed.shards) !== this.spec.shard) continue;
        recno += 1;
        await this.takeRecord(recno, movedRecordBytes(value, recno - 1));
      }
    }
    return recno;
  }

  private raiseVersions(version: number): void {
    this.versions = Math.max(this.versions ?? 0, version);
  }

  private async takeRecord(recno: number, value: Buffer): Promise<void> {
    const { externalId, stamp } = decodedRecord(value, placeOfRecordBytes);
    const recnoBytes = Buffer.allocUnsafe(8);
    recnoBytes.writeDoubleLE(recno);
    this.put(itemKey(recno), value);
    this.put(orderKey(stamp, externalId), recnoBytes);
    await this.flush(BATCH_BYTES);
  }

  private put(key: Buffer, value: Buffer): void {
    this.batch.push({ type: 'put', key, value });
    this.batchBytes += key.length + value.length;
  }

  private async flush(least: number): Promise<void> {
    if (this.batchBytes < least) return;
    const { batch } = this;
    this.batch = [];
    this.batchBytes = 0;
    await this.store.write(batch, { sync: false });
  }
}

/** Puts the saved indexes beside the records. Those that are damaged are left out: they are made anew. */
async function installIndex(folder: string, target: BackupTarget, index: SavedIndex, { logger }: Pick<ShardOptions, 'logger'>): Promise<void> {
  const checkpoint = index.checkpoint as Manifest;
  try {
    for (const { path, parts } of index.files) {
      if (!INDEX_FILE.test(path)) throw new QuiverError('storage_damaged', `the backup is damaged: ${path} is no file of an index`);
      await mkdir(dirname(join(folder, path)), { recursive: true });
      const file = await open(join(folder, path), 'w', 0o600);
      try {
        for (const part of parts) await file.appendFile(await getChecked(target, part));
        await file.sync();
      } finally {
        await file.close();
      }
      await syncFolder(dirname(join(folder, path)));
    }
    await writeManifest(folder, checkpoint);
  } catch (error) {
    if (!isQuiverError(error) || error.kind !== 'storage_damaged') throw error;
    logger.warn({ error, folder }, 'the indexes in the backup are damaged and are made anew from the records');
    await rm(join(folder, 'vectors'), { recursive: true, force: true });
    await rm(join(folder, `checkpoint-${checkpoint.number}`), { recursive: true, force: true });
  }
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
