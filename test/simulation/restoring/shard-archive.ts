import { SHARD_MANIFEST } from '../../../shared/backup-store/content-schemas';
import {
  type CheckedObject,
  contentOf,
  DATA_PREFIX,
  objectsOf,
  sealedText,
  sha256Of,
  type ShardManifest,
} from '../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardBackupOrder, ShardBackupState, ShardSeed } from '../../../shared/contract/shard/shard-backup';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { backedUpCollection } from '../../../node/engine/shard/backup/backed-up-records';
import type { PlainItem } from '../../support/shards/plain-shard-client';
import type { ArchivedShard } from '../resharding/shard-machine';

/** So few that backups build upon what others have written. */
const SEGMENT_ITEMS = 2;

/**
 * Writes one shard to a target: the manifest and the names of objects as a shard writes them, the content of segments
 * as JSON. What the base has is named, and not written again. Errors: those of the target.
 */
export async function writeArchive(
  target: BackupTarget,
  { id, order, attempt, shard }: { id: ShardId; order: ShardBackupOrder; attempt: string; shard: ArchivedShard },
): Promise<ShardBackupState> {
  const folder = `${DATA_PREFIX}${order.backup}/${id.collectionUid}.${id.shard}/${attempt}`;
  const known = new Map(
    (order.base === null ? [] : (await manifestOf(target, order.base)).segments).map((segment) => [
      segment.sha256,
      segment,
    ]),
  );
  const segments: ShardManifest['segments'] = [];
  let copiedBytes = 0;
  for (let from = 0; from < shard.items.length; from += SEGMENT_ITEMS) {
    const items = shard.items.slice(from, from + SEGMENT_ITEMS);
    const bytes = Buffer.from(JSON.stringify(items.map((item) => ({ ...item, vector: [...item.vector] }))));
    const range = { from, to: from + items.length - 1, count: items.length };
    const same = known.get(sha256Of(bytes));
    if (same !== undefined) segments.push({ ...same, ...range });
    else {
      segments.push({ ...(await written(target, `${folder}/${from}`, bytes)), ...range });
      copiedBytes += bytes.length;
    }
  }
  const rest = { lineage: '', dim: 1, live: [], spec: '', operation: 0, index: null, journal: [] };
  const content: ShardManifest = {
    ...rest,
    items: shard.items.length,
    lastRecno: shard.items.length,
    segments,
    versions: shard.lastVersion,
  };
  const manifest = await written(target, `${folder}/shard.json`, sealedText(content));
  const needs = [...new Set([order.backup, ...objectsOf(content).map(({ key }) => key.split('/')[1])])].sort();
  const totalBytes = segments.reduce((sum, { bytes }) => sum + bytes, manifest.bytes);
  return {
    state: 'done',
    copiedBytes,
    totalBytes,
    items: shard.items.length,
    manifest,
    position: null,
    needs,
    error: null,
  };
}

/**
 * The items of all shards that have some of this one, which are to be chosen from. Errors: storage_damaged; those of
 * the target.
 */
export async function readArchive(target: BackupTarget, seed: ShardSeed, shard: number): Promise<ArchivedShard> {
  const { shards: before } = await backedUpCollection(target, seed.backup, seed.collectionUid);
  const items: PlainItem[] = [];
  let lastVersion = 0;
  for (const [number, { manifest }] of before.entries()) {
    if (before.length === seed.shards && number !== shard) continue;
    const { segments, versions } = await manifestOf(target, manifest);
    lastVersion = Math.max(lastVersion, versions ?? 0);
    for (const segment of segments) items.push(...itemsIn(await read(target, segment)));
  }
  return { items, lastVersion };
}

function itemsIn(bytes: Buffer): PlainItem[] {
  return (JSON.parse(bytes.toString()) as (Omit<PlainItem, 'vector'> & { vector: number[] })[]).map((item) => ({
    ...item,
    vector: Float32Array.from(item.vector),
  }));
}

async function manifestOf(target: BackupTarget, object: CheckedObject): Promise<ShardManifest> {
  return contentOf(SHARD_MANIFEST, object.key, await read(target, object));
}

async function written(target: BackupTarget, key: string, bytes: Buffer): Promise<CheckedObject> {
  await target.put(key, bytes);
  return { key, bytes: bytes.length, sha256: sha256Of(bytes) };
}

/** As getChecked does it, without the threads that it hashes in: a simulation would not wait for them. */
async function read(target: BackupTarget, { key, sha256 }: CheckedObject): Promise<Buffer> {
  const bytes = await target.get(key);
  if (bytes === null || sha256Of(bytes) !== sha256)
    throw new QuiverError(
      'storage_damaged',
      `the backup is damaged: ${key} ${bytes === null ? 'is missing' : 'does not match its checksum'}`,
    );
  return bytes;
}
