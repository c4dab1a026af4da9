import { dirname } from 'node:path';
import { mustBeKnownFormat } from '../files/later-format';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { ShardSpec } from '../../shared/shard/shard-client';
import { syncFolder } from '../files/stable-folder';
import type { RecordStore } from './record-store';

/**
 * The format of all that lies in a shard's folder and is no index: records, journal, insertion order, log, marks. Whoever
 * changes one of these so that this program can't read it raises the number, and stores it before anything of the new kind.
 */
const SHARD_FORMAT = 2;
/** Of a shard that never was a part of a reshard: it has no gate, no changes and no outcomes that came with them. */
const PLAIN_FORMAT = 1;

/**
 * The specification as it is stored with a shard's records: what must not change between two starts. Quantization is not
 * part of it: records do not depend on it, and an index of another one is made anew from them.
 */
export function specText(spec: ShardSpec): string {
  const { collectionUid: uid, shard, dim, metric, language } = spec;
  // Without a language, the text equals that of shards made by versions without languages: JSON omits absent members.
  return JSON.stringify({ format: PLAIN_FORMAT, uid, shard, dim, metric, language });
}

/** The same from when the shard has a gate. */
export function gatedSpecText(spec: ShardSpec): string {
  return specText(spec).replace(`"format":${PLAIN_FORMAT}`, `"format":${SHARD_FORMAT}`);
}

/** The specification of a shard whose records are those of another one, in that one's format. Errors: LaterFormatError. */
export function specTextLike(spec: ShardSpec, stored: string): string {
  mustBeKnownShard('a shard of the backup', stored);
  return stored.startsWith(`{"format":${SHARD_FORMAT},`) ? gatedSpecText(spec) : specText(spec);
}

/** Refuses the specification of a shard that a later version wrote. Errors: LaterFormatError. */
export function mustBeKnownShard(what: string, stored: string): void {
  // Its beginning is the same in every format; what follows may be anything.
  mustBeKnownFormat(what, Number(/^\{"format":(\d{1,9})[,}]/.exec(stored)?.[1] ?? 0), SHARD_FORMAT);
}

/**
 * Stores in new records, durably, to which shard they belong; or checks that they belong to this one. Errors: storage_failed,
 * LaterFormatError; nothing was changed then.
 */
export async function claimRecords(records: RecordStore, folder: string, spec: ShardSpec): Promise<void> {
  const stored = await records.spec();
  if (stored === null) {
    await records.writeSpec(specText(spec));
    await syncFolder(folder);
    await syncFolder(dirname(folder));
  } else if (stored !== specText(spec) && stored !== gatedSpecText(spec)) {
    mustBeKnownShard(`the folder of shard ${spec.shard} of collection ${spec.collectionUid}`, stored);
    throw new QuiverError('storage_failed', `the shard on disk is ${stored}, not ${specText(spec)}`);
  }
}
