import { getChecked } from '../../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../../shared/backup-store/backup-target';
import { chainAfter, chainsOf, segmentsBetween } from '../../../../shared/backup-store/log-chain';
import {
  LOG_PREFIX,
  type LogSegment,
  openedSegment,
  SEGMENT_BYTES_MAX,
  segmentOf,
  type ShippedEntry,
  shardName,
  unsealedSegment,
} from '../../../../shared/backup-store/log-format';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardSeed } from '../../../../shared/contract/shard/shard-backup';
import type { WriteResult } from '../../../../shared/contract/shard/shard-client';
import type { WriteSource } from '../../../../shared/contract/writes/write-source';
import type { KeyValueChange } from '../../kv/key-value-store';
import { backedUpCollection, shardManifest } from './backed-up-records';
import type { BackupAccess, WriteNames } from './backup-access';
import { sessionsFromBytes } from './seen-log';

/** Bytes of writes that are applied in one batch, about. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** What a log is applied to. */
export interface ReplayedShard {
  applyLogged(payloads: Buffer[], alongside: (results: WriteResult[]) => KeyValueChange[]): Promise<WriteResult[]>;
}

/** Where a replay begins. */
export interface ReplayStart {
  sequence: number;
  epoch: number;
  /** The gate as it was stored there; null: the shard had none. */
  gate: Buffer | null;
  sessions: { key: Buffer; value: Buffer }[];
}

/** Before the first entry of a log. */
const BEGINNING: ReplayStart = { sequence: 0, epoch: 0, gate: null, sessions: [] };

/**
 * Where the log goes on after the backup that a shard begins with; its beginning for none. Errors: storage_damaged,
 * those of the target.
 */
export async function startOf(
  target: BackupTarget,
  { backup, collectionUid, sha256 }: ShardSeed,
  shard: number,
): Promise<ReplayStart> {
  if (backup === '') return BEGINNING;
  const collection = await backedUpCollection(target, backup, collectionUid, sha256);
  if (shard >= collection.shards.length)
    throw new QuiverError('storage_damaged', `backup ${backup} has no shard ${shard} of the collection`);
  const { log } = await shardManifest(target, collection.shards[shard].manifest);
  if (log === undefined)
    throw new QuiverError(
      'storage_damaged',
      `backup ${backup} does not tell at which place of its log shard ${shard} was taken`,
    );
  const sessions: ReplayStart['sessions'] = [];
  for (const part of log.sessions) sessions.push(...sessionsFromBytes(part.key, await getChecked(target, part)));
  return {
    sequence: log.sequence,
    epoch: log.epoch,
    gate: log.gate === null ? null : Buffer.from(log.gate, 'base64'),
    sessions,
  };
}

/**
 * Applies the entries after `start` up to `upTo`, in their order. `isSealed`: all of them must have a good seal.
 * Errors: storage_damaged where one is missing, or has none; those of the target.
 */
export async function replay(
  target: BackupTarget,
  shard: ReplayedShard,
  parts: {
    of: { collectionUid: string; shard: number };
    start: ReplayStart;
    upTo: number;
    isSealed: boolean;
    ledger: BackupAccess['ledger'];
  },
): Promise<void> {
  const { of, start, upTo, isSealed, ledger } = parts;
  if (upTo === start.sequence) return;
  const objects = await target.list(`${LOG_PREFIX}${shardName(of)}/`);
  const chain = chainAfter(chainsOf(objects.flatMap((object) => segmentOf(object) ?? [])), start);
  const segments = chain === null ? null : segmentsBetween(chain, start.sequence, upTo);
  if (segments === null) throw missing(of.shard, start.sequence + 1);
  const replayer = new Replayer(shard, ledger?.(start.sessions) ?? null);
  let { sequence, epoch } = start;
  let ahead = read(target, segments[0], isSealed);
  for (let i = 0; i < segments.length; i += 1) {
    const entries = await ahead;
    // The next one is on its way while this one is applied.
    if (i + 1 < segments.length) {
      ahead = read(target, segments[i + 1], isSealed);
      ahead.catch(() => undefined);
    }
    for (const entry of entries) {
      if (entry.sequence === sequence && entry.epoch !== epoch)
        throw new QuiverError(
          'storage_damaged',
          `the log of shard ${of.shard} in the backup target is not the one that the backup was taken from`,
        );
      if (entry.sequence <= sequence || entry.sequence > upTo) continue;
      if (entry.sequence !== sequence + 1 || entry.epoch < epoch) throw missing(of.shard, sequence + 1);
      ({ sequence, epoch } = entry);
      await replayer.add(entry);
    }
  }
  await replayer.flush();
  if (sequence !== upTo) throw missing(of.shard, sequence + 1);
}

/** Applies entries in batches, and those that are there twice once. */
class Replayer {
  private batch: { source: WriteSource | null; payload: Buffer }[] = [];
  private bytes = 0;

  constructor(
    private readonly shard: ReplayedShard,
    private readonly names: WriteNames | null,
  ) {}

  async add({ sequence, write }: ShippedEntry): Promise<void> {
    if (write === null) return;
    if (write.source !== null) {
      if (this.names === null)
        throw new QuiverError('internal', 'the log of a replicated shard can not be followed here');
      if (this.names.begin(write.source, sequence).type !== 'new') return;
    }
    this.batch.push(write);
    this.bytes += write.payload.length;
    if (this.bytes >= BATCH_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const { batch } = this;
    if (batch.length === 0) return;
    this.batch = [];
    this.bytes = 0;
    const results = await this.shard.applyLogged(
      batch.map(({ payload }) => payload),
      () => [],
    );
    for (const [i, { source }] of batch.entries()) if (source !== null) this.names?.finish(source, results[i]);
  }
}

async function read(target: BackupTarget, segment: LogSegment, isSealed: boolean): Promise<ShippedEntry[]> {
  const bytes = await target.get(segment.key, SEGMENT_BYTES_MAX);
  if (bytes === null) throw new QuiverError('storage_damaged', `the backup is damaged: ${segment.key} is missing`);
  const { entries, seal } = openedSegment(segment, bytes, target.seals);
  if (isSealed && seal !== 'sealed') throw new QuiverError('storage_damaged', unsealedSegment(segment.key));
  return entries;
}

function missing(shard: number, sequence: number): QuiverError {
  return new QuiverError('storage_damaged', `the log of shard ${shard} in the backup target lacks entry ${sequence}`);
}
