import { dirname } from 'node:path';
import { mustBeKnownFormat } from '../files/later-format';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardSpec } from '../../../shared/contract/shard/shard-client';
import { syncFolder } from '../../../shared/base/files/stable-folder';
import type { RecordStore } from './record-store';

/**
 * The format of all that lies in a shard's folder and is no index: records, journal, insertion order, log, marks.
 * Whoever changes one of these so that this program can't read it raises the number, and stores it before anything of
 * the new kind.
 */
const SHARD_FORMAT = 4;
/**
 * Of a shard that never was a part of a reshard, and counts no versions: it has no gate, no changes, no outcomes and no
 * records that came with them.
 */
const PLAIN_FORMAT = 1;
/** Of a shard that has a gate. */
const STAGED_FORMAT = 2;
/** Of a shard that counts versions, and never had an item that expires. */
const COUNTED_FORMAT = 3;

/** What later formats brought, as far as a shard has it. */
export interface ShardFacts {
  stageState: boolean;
  versions: boolean;
  /** It has, or had, items that expire. */
  expiries: boolean;
}

/**
 * The specification as it is stored with a shard's records: what must not change between two starts. Quantization is
 * not part of it: records do not depend on it, and an index of another one is made again from them.
 */
export function specText(spec: ShardSpec): string {
  const { collectionUid: uid, shard, dim, metric, language, keywordFields } = spec;
  // What is absent is left out: without it, the text equals that of shards made by versions that did not know it.
  return JSON.stringify({ format: PLAIN_FORMAT, uid, shard, dim, metric, language, keywordFields });
}

/** The same for a shard with what later formats brought. */
export function specTextWith(spec: ShardSpec, has: ShardFacts): string {
  const format = has.expiries
    ? SHARD_FORMAT
    : has.versions
      ? COUNTED_FORMAT
      : has.stageState
        ? STAGED_FORMAT
        : PLAIN_FORMAT;
  return specText(spec).replace(`"format":${PLAIN_FORMAT}`, `"format":${format}`);
}

/**
 * The specification of a shard whose records are those of another one, in that one's format. `stored`: that one's; ''
 * where nobody had written to it. Errors: LaterFormatError.
 */
export function specTextLike(spec: ShardSpec, stored: string): string {
  if (stored === '') return specText(spec);
  mustBeKnownShard('a shard of the backup', stored);
  return specText(spec).replace(`"format":${PLAIN_FORMAT}`, `"format":${formatOf(stored)}`);
}

/** Refuses the specification of a shard that a later version wrote. Errors: LaterFormatError. */
export function mustBeKnownShard(what: string, stored: string): void {
  mustBeKnownFormat(what, formatOf(stored), SHARD_FORMAT);
}

/** The beginning is the same in every format; what follows may be anything. */
function formatOf(stored: string): number {
  return Number(/^\{"format":(\d{1,9})[,}]/.exec(stored)?.[1] ?? 0);
}

const KNOWN = [
  { stageState: false, versions: false, expiries: false },
  { stageState: true, versions: false, expiries: false },
  { stageState: true, versions: true, expiries: false },
  { stageState: true, versions: true, expiries: true },
];

/**
 * Stores in new records, durably, to which shard they belong; or checks that they belong to this one. Answers whether
 * the shard has items that expire. Errors: storage_failed; storage_damaged for those of another shard, and for new ones
 * where they `mustExist`; LaterFormatError. Nothing was changed then.
 */
export async function claimRecords(
  records: RecordStore,
  folder: string,
  spec: ShardSpec,
  mustExist = false,
): Promise<{ expiries: boolean }> {
  const stored = await records.spec();
  if (stored === null && mustExist)
    throw new QuiverError('storage_damaged', 'its records are gone: what is in their place holds nothing', {
      details: { folder },
    });
  if (stored === null) {
    await records.writeSpec(specText(spec));
    await syncFolder(folder);
    await syncFolder(dirname(folder));
  } else if (!KNOWN.some((has) => stored === specTextWith(spec, has))) {
    mustBeKnownShard(`the folder of shard ${spec.shard} of collection ${spec.collectionUid}`, stored);
    if (!isOf(stored, spec))
      throw new QuiverError('storage_damaged', 'its data are those of another shard', {
        details: { folder, found: stored, expected: specText(spec) },
      });
    throw new QuiverError('storage_failed', `the shard on disk is ${stored}, not ${specText(spec)}`);
  }
  return { expiries: stored !== null && formatOf(stored) === SHARD_FORMAT };
}

/** Whether a specification is that of this shard, whatever it says besides. */
function isOf(stored: string, { collectionUid, shard }: ShardSpec): boolean {
  try {
    const found = JSON.parse(stored) as { uid?: unknown; shard?: unknown } | null;
    return found?.uid === collectionUid && found.shard === shard;
  } catch {
    return false;
  }
}
