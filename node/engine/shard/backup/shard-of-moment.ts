import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../../../../shared/base/files/stable-folder';
import type { ShardSeed } from '../../../../shared/contract/shard/shard-backup';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import { shardOf } from '../../../../shared/contract/shard/shard-of';
import type { KeyValueChange, KeyValueStore } from '../../kv/key-value-store';
import {
  CHANGES_RANGE,
  STAGE_KEY,
  ITEM_RANGE,
  itemKey,
  orderKey,
  SPEC_KEY,
  VERSIONS_KEY,
} from '../../records/record-keys';
import { moveRecordBytes, positionOfRecordBytes } from '../../records/record-codec';
import { decodedRecord } from '../../records/record-store';
import { DedupStore } from '../../records/dedup-store';
import { seedChanges } from '../../records/seed-position';
import { stageFromBytes } from '../../records/shard-stage-state';
import { specTextLike } from '../../records/shard-format';
import { versionFromBytes, versionToBytes } from '../../records/version-count';
import type { ShardOptions } from '../shard-options';
import { replay, type ReplayedShard, startOf } from './log-replay';
import { PatientTarget } from './patient-target';
import { SeededDedup } from './seeded-dedup';
import { isThere, seedShard, UNFINISHED_FILE, unusable } from './shard-seeding';

const BATCH_BYTES = 512 * 1024;
const DEDUP_PAGE = 256;

export type LoggedSeed = ShardSeed & { log: NonNullable<ShardSeed['log']> };

export interface MomentParts {
  spec: ShardSpec & { seed: LoggedSeed };
  options: Pick<ShardOptions, 'openStore' | 'backups' | 'logger'>;
  /** Aborted when the shard is not wanted any more. */
  ended: AbortSignal | undefined;
  /** Opens a shard in a folder, to apply writes to it. */
  open: (folder: string, spec: ShardSpec) => Promise<ReplayedShard & { close(): Promise<void> }>;
}

/**
 * Fills the folder of a new shard with what shards of another collection held at a place of their logs: each of them is
 * made from the backup, follows its log up to there as any shard does, and then gives its items. As `seedShard`
 * otherwise: what a shard begins with follows from the seed alone. Errors: those of `seedShard`.
 */
export async function seedOfMoment(folder: string, parts: MomentParts): Promise<void> {
  try {
    await seed(folder, parts);
  } catch (error) {
    throw unusable(error);
  }
}

async function seed(folder: string, parts: MomentParts): Promise<void> {
  const { spec, options } = parts;
  const { shards, log, backup } = spec.seed;
  if (await isThere(join(folder, 'records'))) return;
  await makeStableFolder(folder);
  const marker = await open(join(folder, UNFINISHED_FILE), 'w');
  await marker.sync();
  await marker.close();
  await syncFolder(folder);
  const count = log.upTo.length;
  if (count === shards) {
    const source = await sourceShard(folder, spec.shard, parts);
    await settle(source, spec.shard, options);
    for (const name of await readdir(source)) await rename(join(source, name), join(folder, name));
    await rm(source, { recursive: true });
  } else {
    // See Filling: other shards have none of this one's items.
    const step = commonDivisor(count, shards);
    const gathering = await options.openStore(join(folder, 'records'));
    try {
      const gathered = new Gathering(gathering, spec, count);
      for (let from = spec.shard % step; from < count; from += step) {
        const source = await sourceShard(folder, from, parts);
        await settle(source, from, options);
        const store = await options.openStore(join(source, 'records'));
        try {
          await gathered.takeOwn(store, from);
        } finally {
          await store.close();
        }
        await rm(source, { recursive: true });
      }
      await gathered.finish();
    } finally {
      await gathering.close();
    }
  }
  await syncFolder(join(folder, 'records'));
  await rm(join(folder, UNFINISHED_FILE));
  await syncFolder(folder);
  options.logger.info(
    { collectionUid: spec.collectionUid, shard: spec.shard, backup },
    'a shard was restored to a place of its log',
  );
}

/** Makes a shard of the old collection as it was at its place of the log, in a folder beside the new one's files. */
async function sourceShard(
  folder: string,
  shard: number,
  { spec, options, ended = new AbortController().signal, open: openShard }: MomentParts,
): Promise<string> {
  if (options.backups === undefined) throw new QuiverError('storage_failed', 'this process has no place for backups');
  const path = join(folder, `source-${shard}`);
  const { log, ...whole } = spec.seed;
  const { seed: _seed, ...rest } = spec;
  const own = { ...rest, shard };
  const target = new PatientTarget(options.backups.open(whole.target), {
    ended,
    log: options.logger,
    patience: options.backups.patience,
  });
  const start = await startOf(target, whole, shard);
  if (whole.backup !== '')
    await seedShard(path, { ...own, seed: { ...whole, shards: log.upTo.length } }, options, ended);
  await makeStableFolder(path);
  if (start.gate !== null) await change(path, options, [{ type: 'put', key: STAGE_KEY, value: start.gate }]);
  const opened = await openShard(path, own);
  try {
    await replay(target, opened, {
      of: { collectionUid: whole.collectionUid, shard },
      start,
      upTo: log.upTo[shard],
      isSealed: log.isSealed === true,
      ledger: options.backups.ledger,
    });
  } finally {
    await opened.close();
  }
  return path;
}

/**
 * What was its part in a change of the number of shards is forgotten; the new one begins like any restored one. Errors:
 * invalid_parameter.
 */
async function settle(path: string, shard: number, options: MomentParts['options']): Promise<void> {
  const store = await options.openStore(join(path, 'records'));
  try {
    const gate = await store.get(STAGE_KEY);
    // One that is sealed has all that its collection had: what others take its place with is the same.
    if (gate !== undefined && decodedRecord(gate, stageFromBytes).stage === 'filling') {
      throw new QuiverError(
        'invalid_parameter',
        `the collection was changing its number of shards at that moment, and shard ${shard} was not in use: restore to an earlier or a later one`,
      );
    }
    await store.clear(CHANGES_RANGE);
    // Synced, with all that the log brought.
    await store.write([{ type: 'delete', key: STAGE_KEY }, ...seedChanges()], { sync: true });
  } finally {
    await store.close();
  }
}

async function change(path: string, options: MomentParts['options'], changes: KeyValueChange[]): Promise<void> {
  const store = await options.openStore(join(path, 'records'));
  try {
    await store.write(changes, { sync: true });
  } finally {
    await store.close();
  }
}

/** Puts together the items of one shard that are in several others, under numbers and in slots of its own. */
class Gathering {
  private batch: KeyValueChange[] = [];
  private bytes = 0;
  private recno = 0;
  private stored = '';
  private versions: number | null = null;
  private readonly marks: SeededDedup;

  constructor(
    private readonly store: KeyValueStore,
    private readonly spec: ShardSpec & { seed: ShardSeed },
    private readonly oldShards: number,
  ) {
    this.marks = new SeededDedup(store);
  }

  async takeOwn(source: KeyValueStore, from: number): Promise<void> {
    const text = (await source.get(SPEC_KEY))?.toString() ?? '';
    // A later format of any of them counts.
    if (text > this.stored) this.stored = text;
    const counted = await source.get(VERSIONS_KEY);
    if (counted !== undefined) this.raise(decodedRecord(counted, versionFromBytes));
    for await (const page of source.scan(ITEM_RANGE)) {
      for (const { value } of page) {
        const { externalId, stamp, version } = decodedRecord(value, positionOfRecordBytes);
        if (counted !== undefined) this.raise(version || stamp);
        if (shardOf(externalId, this.spec.seed.shards) !== this.spec.shard) continue;
        this.recno += 1;
        const recnoBytes = Buffer.allocUnsafe(8);
        recnoBytes.writeDoubleLE(this.recno);
        const moved = Buffer.from(value);
        moveRecordBytes(moved, this.recno - 1);
        this.put(itemKey(this.recno), moved);
        this.put(orderKey(stamp, externalId), recnoBytes);
        if (this.bytes >= BATCH_BYTES) await this.flush(false);
      }
    }
    await this.takeDedupRecords(source, from);
  }

  /** What it needs of the marks of the shard `from`. */
  private async takeDedupRecords(source: KeyValueStore, from: number): Promise<void> {
    const { shard: to, seed } = this.spec;
    const move = {
      from: { collectionUid: seed.collectionUid, shard: from },
      oldShards: this.oldShards,
      to,
      newShards: seed.shards,
    };
    const marks = new DedupStore(source);
    for (
      let page = await marks.after(0, DEDUP_PAGE);
      page.length > 0;
      page = await marks.after(page[page.length - 1].sequence, DEDUP_PAGE)
    )
      await this.marks.takeMoved(page, move);
  }

  async finish(): Promise<void> {
    this.put(SPEC_KEY, Buffer.from(specTextLike(this.spec, this.stored)));
    if (this.versions !== null) this.put(VERSIONS_KEY, versionToBytes(this.versions));
    this.batch.push(...seedChanges());
    await this.flush(true);
  }

  private raise(version: number): void {
    this.versions = Math.max(this.versions ?? 0, version);
  }

  private put(key: Buffer, value: Buffer): void {
    this.batch.push({ type: 'put', key, value });
    this.bytes += key.length + value.length;
  }

  private async flush(sync: boolean): Promise<void> {
    const { batch } = this;
    this.batch = [];
    this.bytes = 0;
    await this.store.write(batch, { sync });
  }
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
