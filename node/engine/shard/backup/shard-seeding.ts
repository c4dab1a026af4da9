import { existsSync } from 'node:fs';
import { access, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type BackedUpCollection,
  type CheckedObject,
  type SavedIndex,
  type ShardManifest,
} from '../../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../../shared/backup-store/backup-target';
import { isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardSeed } from '../../../../shared/contract/shard/shard-backup';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import { shardOf } from '../../../../shared/contract/shard/shard-of';
import { makeStableFolder, syncFolder } from '../../../../shared/base/files/stable-folder';
import type { KeyValueChange, KeyValueStore } from '../../kv/key-value-store';
import { PackedEntries } from '../../kv/packed-entries';
import { itemKey, journalKey, SPEC_KEY, VERSIONS_KEY } from '../../records/record-keys';
import { moveRecordBytes, positionOfRecordBytes } from '../../records/record-codec';
import { decodedRecord } from '../../records/record-store';
import { seedChanges } from '../../records/seed-position';
import { specTextLike } from '../../records/shard-format';
import { versionToBytes } from '../../records/version-count';
import { originalsBytes, SAVE_HEAD_BYTES } from '../../vector/saved-originals';
import { type Manifest, writeManifest } from '../opening/checkpoint';
import type { ShardOptions } from '../shard-options';
import { OrderRun } from './order-run';
import { PatientTarget } from './patient-target';
import { inOrder } from './read-ahead';
import { backedUpCollection, journalEntries, liveRecords, dedupRecords, shardManifest } from './backed-up-records';
import { SeededDedup } from './seeded-dedup';

/** In the folder of a shard as long as it is not filled. */
export const UNFINISHED_FILE = 'seeding';
/** Bytes that are put together at once: few enough that others get their turn between two. */
const PAGE_BYTES = 1024 * 1024;
const INDEX_FILE =
  /^(?:checkpoint-\d{1,15}\/(?:directory|filters|keywords)|vectors\/(?:save-\d{1,15}-\d{1,15}\.index|originals-\d{1,15}\.f32))$/;

/** Removes what is left of a seeding that a crash interrupted. */
export async function removeUnfinished(folder: string): Promise<void> {
  if (existsSync(join(folder, UNFINISHED_FILE))) await rm(folder, { recursive: true, force: true });
}

/**
 * Fills the folder of a new shard from a backup, so that it opens as if it had taken those writes itself. Nothing is
 * done where there are records already. A folder that was not filled to the end is removed by the next opening.
 *
 * What a shard begins with follows from the seed alone: every replica begins with the same records, at the same place
 * of the log. Errors: invalid_parameter for a backup that can't be used; those of the target and of the disk.
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
    throw unusable(error);
  }
}

/**
 * What made a shard fail that begins with a backup. Damage of the backup says nothing about what is stored here, and
 * what no program expects in it will not be otherwise the next time.
 */
export function unusable(error: unknown): unknown {
  if (isQuiverError(error) && (error.kind === 'storage_damaged' || error.kind === 'internal'))
    return new QuiverError('invalid_parameter', error.message, { cause: error });
  const isUnexpected = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  return isUnexpected
    ? new QuiverError('invalid_parameter', `the backup can not be used: ${error.message}`, { cause: error })
    : error;
}

async function seed(
  folder: string,
  spec: ShardSpec & { seed: ShardSeed },
  options: Pick<ShardOptions, 'openStore' | 'backups' | 'logger'>,
  ended: AbortSignal,
): Promise<void> {
  if (await isThere(join(folder, 'records'))) return;
  if (options.backups === undefined) throw new QuiverError('storage_failed', 'this process has no place for backups');
  const { target: name, backup, collectionUid, sha256 } = spec.seed;
  const target = new PatientTarget(options.backups.open(name), {
    ended,
    log: options.logger,
    patience: options.backups.patience,
  });
  const collection = await backedUpCollection(target, backup, collectionUid, sha256);
  await makeStableFolder(folder);
  const marker = await open(join(folder, UNFINISHED_FILE), 'w');
  await marker.sync();
  await marker.close();
  await syncFolder(folder);
  const whole = await wholeShard(target, collection, spec);
  const results = await Promise.allSettled([
    fillRecords(folder, spec, { options, target, collection, whole }),
    whole?.index ? installIndex(folder, target, whole.index, options) : null,
  ]);
  // Nothing of this may still be written when the folder is made again.
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  await syncFolder(join(folder, 'records'));
  await rm(join(folder, UNFINISHED_FILE));
  await syncFolder(folder);
  options.logger.info(
    {
      collectionUid: spec.collectionUid,
      shard: spec.shard,
      backup,
      withIndex: whole?.index !== null && whole !== null,
    },
    'a shard was restored from a backup',
  );
}

/** The shard that is taken over as it is; null for one that is put together of items of several. */
async function wholeShard(
  target: BackupTarget,
  collection: BackedUpCollection,
  spec: ShardSpec & { seed: ShardSeed },
): Promise<ShardManifest | null> {
  return collection.shards.length === spec.seed.shards
    ? shardManifest(target, collection.shards[spec.shard].manifest)
    : null;
}

interface FillingParts {
  options: Pick<ShardOptions, 'openStore'>;
  target: BackupTarget;
  collection: BackedUpCollection;
  whole: ShardManifest | null;
}

async function fillRecords(
  folder: string,
  spec: ShardSpec & { seed: ShardSeed },
  { options, target, collection, whole }: FillingParts,
): Promise<void> {
  const store = await options.openStore(join(folder, 'records'));
  try {
    await new Filling(store, target, spec).run(collection, whole);
  } finally {
    await store.close();
  }
}

/** Writes the records of a new shard. */
class Filling {
  private readonly page = new PackedEntries(PAGE_BYTES + PAGE_BYTES / 8);
  private readonly order = new OrderRun();
  /** The highest version that any of the shards before gave; null: none counted. */
  private versions: number | null = null;
  /** The shards that items were taken from. */
  private readonly taken: { shard: number; manifest: ShardManifest }[] = [];
  /** How the records of the shards before are stored. */
  private stored = '';

  constructor(
    private readonly store: KeyValueStore,
    private readonly target: BackupTarget,
    private readonly spec: ShardSpec & { seed: ShardSeed },
  ) {}

  async run(collection: BackedUpCollection, whole: ShardManifest | null): Promise<void> {
    await this.store.load(whole === null ? this.ownOf(collection) : this.allOf(whole));
    await this.takeDedupRecords(collection, whole);
    const changes: KeyValueChange[] = [
      { type: 'put', key: SPEC_KEY, value: Buffer.from(specTextLike(this.spec, this.stored)) },
    ];
    if (this.versions !== null) changes.push({ type: 'put', key: VERSIONS_KEY, value: versionToBytes(this.versions) });
    await this.store.write([...changes, ...seedChanges()], { sync: true });
  }

  /** Everything, in the order of its keys: records, the journal, and what is left of the order of insertion. */
  private async *allOf(manifest: ShardManifest): AsyncIterable<Buffer> {
    this.stored = manifest.spec;
    // What is not stored follows from the items, and they are all here.
    this.versions = manifest.versions ?? null;
    for await (const entries of liveRecords(this.target, manifest)) {
      for (const { number, value } of entries) {
        const { externalId, stamp } = decodedRecord(value, positionOfRecordBytes);
        this.page.add(itemKey(number), value);
        this.order.add(stamp, externalId, number);
        if (this.isDue) yield* this.takePage();
      }
    }
    for await (const entries of journalEntries(this.target, manifest)) {
      for (const { number, value } of entries) {
        this.page.add(journalKey(number), value);
        if (this.isDue) yield* this.takePage();
      }
    }
    yield this.page.take();
    yield* this.order.take();
  }

  /** The items of this shard, under numbers and in slots of its own. */
  private async *ownOf(collection: BackedUpCollection): AsyncIterable<Buffer> {
    const { shard, seed } = this.spec;
    const count = collection.shards.length;
    // An item's hash leaves the same rest by a common divisor of both numbers: other shards have none of this one's.
    const step = commonDivisor(count, seed.shards);
    let recno = 0;
    for (let from = shard % step; from < count; from += step) {
      const manifest = await shardManifest(this.target, collection.shards[from].manifest);
      this.taken.push({ shard: from, manifest });
      // A later format of any of them counts.
      if (manifest.spec > this.stored) this.stored = manifest.spec;
      const isCounted = typeof manifest.versions === 'number';
      if (isCounted) this.raiseVersions(manifest.versions!);
      for await (const entries of liveRecords(this.target, manifest)) {
        for (const { value } of entries) {
          const { externalId, stamp, version } = decodedRecord(value, positionOfRecordBytes);
          // Those of others, too: one of this shard may have gone when that was the only trace of its version.
          if (isCounted) this.raiseVersions(version || stamp);
          if (shardOf(externalId, seed.shards) !== shard) continue;
          recno += 1;
          moveRecordBytes(this.page.add(itemKey(recno), value), recno - 1);
          this.order.add(stamp, externalId, recno);
          if (this.isDue) yield* this.takePage();
        }
      }
    }
    yield this.page.take();
    yield* this.order.take();
  }

  private async takeDedupRecords(collection: BackedUpCollection, whole: ShardManifest | null): Promise<void> {
    const { shard: to, seed } = this.spec;
    const marks = new SeededDedup(this.store);
    if (whole !== null) for await (const page of dedupRecords(this.target, whole)) await marks.take(page);
    for (const { shard, manifest } of this.taken) {
      const move = {
        from: { collectionUid: seed.collectionUid, shard },
        oldShards: collection.shards.length,
        to,
        newShards: seed.shards,
      };
      for await (const page of dedupRecords(this.target, manifest)) await marks.takeMoved(page, move);
    }
  }

  private get isDue(): boolean {
    return this.page.length >= PAGE_BYTES || this.order.isFull;
  }

  private async *takePage(): AsyncIterable<Buffer> {
    if (this.order.isFull) await this.store.load(this.order.take());
    yield this.page.take();
  }

  private raiseVersions(version: number): void {
    this.versions = Math.max(this.versions ?? 0, version);
  }
}

/** Puts the saved indexes beside the records. Those that are damaged are left out: they are made again. */
async function installIndex(
  folder: string,
  target: BackupTarget,
  index: SavedIndex,
  { logger }: Pick<ShardOptions, 'logger'>,
): Promise<void> {
  const checkpoint = index.checkpoint as Manifest;
  try {
    for (const { path, parts } of index.files) {
      if (!INDEX_FILE.test(path))
        throw new QuiverError('storage_damaged', `the backup is damaged: ${path} is no file of an index`);
      await mkdir(dirname(join(folder, path)), { recursive: true });
      const bytes = await neededBytes(folder, path, checkpoint);
      const file = await open(join(folder, path), 'w', 0o600);
      try {
        let left = bytes;
        for await (const part of inOrder(target, partsUpTo(parts, bytes))) {
          await file.appendFile(part.bytes.subarray(0, left));
          left -= part.bytes.length;
        }
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

/**
 * How much the saved index needs of one of its files. Backups of earlier versions also have the room behind the
 * vectors.
 */
async function neededBytes(folder: string, path: string, { vectors }: Manifest): Promise<number> {
  if (!path.endsWith('.f32')) return Infinity;
  // It comes first in every backup.
  const save = await open(join(folder, 'vectors', vectors), 'r').catch(() => null);
  if (save === null) return Infinity;
  try {
    const head = Buffer.alloc(SAVE_HEAD_BYTES);
    const { bytesRead } = await save.read(head, 0, head.length, 0);
    return originalsBytes(head.subarray(0, bytesRead)) ?? Infinity;
  } finally {
    await save.close();
  }
}

/** The parts of a file that hold its first bytes; the last of them may hold more. */
function partsUpTo(parts: CheckedObject[], bytes: number): CheckedObject[] {
  let before = 0;
  return parts.filter((part) => {
    const isNeeded = before < bytes;
    before += part.bytes;
    return isNeeded;
  });
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

export function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
