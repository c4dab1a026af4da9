import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { replaceFile, syncFolder } from '../../../../shared/base/files/stable-folder';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import type { ShardStatus } from '../../../../shared/contract/shard/shard-read';
import { specText } from '../../records/shard-format';
import type { ShardObservation } from '../shard-observation';
import { unlessMissing } from '../../../../shared/base/files/missing-file';

/**
 * Beside the records of a shard that was closed with everything saved, or in the place of those that are still to be
 * made.
 */
const REST_NAME = 'rest.json';
const REST_FORMAT = 1;
/** In the folder of the shard. */
const RECORDS = 'records';
/** What RocksDB writes at any time without a change of the records: its lock has no content. */
const UNCOUNTED = new Set(['LOCK']);
/** Codes by which the file system says that there is no note, not that it can't be read now. */
const NO_NOTE = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

/** What is known of a shard while it is closed: what lists, metrics and health show of it. */
export interface RestFacts {
  status: ShardStatus;
  checkpoint: ShardObservation['checkpoint'];
  marks: ShardObservation['marks'];
  /** When the first of its items expires, which is then removed; null: none does. */
  expiresAtMs: number | null;
}

/**
 * Files of the records, by name with their bytes; null: nothing was made of them, because nobody wrote to the shard
 * yet.
 */
type Files = Record<string, number> | null;

export interface RestNote {
  facts: RestFacts;
  /** Nobody ever wrote to the shard: its records are made with the first change. */
  isBlank: boolean;
}

/** What there is to know of a shard that nobody wrote to yet. `atMs`: when it is made. */
export function blankFacts(atMs: number): RestFacts {
  return {
    status: {
      vectorCount: 0,
      lastOperation: 0,
      lastStamp: 0,
      diskBytes: 0,
      memoryBytes: 0,
      segments: [{ kind: 'growing', rows: 0, deletedRows: 0, ef: 0 }],
      index: { state: 'ready', rows: 0, indexedRows: 0, refinedRows: 0, secondsLeft: 0, optimizing: false },
    },
    checkpoint: { atMs, unsavedChanges: 0 },
    marks: { count: 0, bytes: 0 },
    expiresAtMs: null,
  };
}

/**
 * Notes durably how a shard was when it was closed. `folder`: the shard's, whose records are closed and on stable
 * storage. It counts until they are opened, which gives them other files; where there are none yet, until it is removed
 * (`forgetRest`). Errors: those of the file system.
 */
export async function writeRest(folder: string, spec: ShardSpec, { facts, isBlank }: RestNote): Promise<void> {
  const content = JSON.stringify({
    spec: specText(spec),
    facts,
    files: isBlank ? null : filesIn(join(folder, RECORDS)),
  });
  await replaceFile(join(folder, REST_NAME), JSON.stringify({ format: REST_FORMAT, crc: crc32(content), content }));
  await syncFolder(folder);
}

/**
 * What was noted of this shard, if its records are still as they were then: every file is there, as long as it was.
 * null: only an opening tells. Never throws. It reads a few names and lengths, at once: thousands of shards are looked
 * at when a process starts.
 */
export function readRest(folder: string, spec: ShardSpec): RestNote | null {
  try {
    const { spec: noted, facts, files } = noteIn(folder);
    if (noted !== specText(spec)) return null;
    if (files === null) return { facts, isBlank: true };
    const found = filesIn(join(folder, RECORDS));
    const names = Object.keys(files);
    const isSame = names.length === Object.keys(found).length && names.every((name) => found[name] === files[name]);
    return isSame ? { facts, isBlank: false } : null;
  } catch {
    return null;
  }
}

/**
 * Removes what was noted, durably: before anything is stored in records that were made just now. Errors:
 * storage_failed.
 */
export async function forgetRest(folder: string): Promise<void> {
  try {
    // It may have been removed by one who could not sync that.
    await unlessMissing(rm(join(folder, REST_NAME)));
    await syncFolder(folder);
  } catch (error) {
    throw new QuiverError(
      'storage_failed',
      `${join(folder, REST_NAME)} can't be removed: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Whether nothing is noted in the folder of a shard, which is there. */
export function hasNoRest(folder: string): boolean {
  return existsSync(folder) && !existsSync(join(folder, REST_NAME));
}

/**
 * The specification (`specText`) of the shard in this folder, to which nobody has written, so that it has no records;
 * null: it is none of these. Errors: storage_failed where the note is there and can't be read now, which tells nothing
 * of the shard.
 */
export function blankSpec(folder: string): string | null {
  try {
    const { spec, files } = noteIn(folder);
    return files === null ? spec : null;
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined || code === undefined || NO_NOTE.has(code)) return null;
    throw new QuiverError('storage_failed', `${join(folder, REST_NAME)} can't be read: ${message}`, { cause: error });
  }
}

/** Throws where there is none that can be used. */
function noteIn(folder: string): { spec: string; facts: RestFacts; files: Files } {
  const { format, crc, content } = JSON.parse(readFileSync(join(folder, REST_NAME), 'utf8')) as {
    format: number;
    crc: number;
    content: string;
  };
  if (format !== REST_FORMAT || crc32(content) !== crc)
    throw new Error(`${REST_NAME} is damaged, or of another version`);
  return JSON.parse(content) as { spec: string; facts: RestFacts; files: Files };
}

function filesIn(folder: string): Record<string, number> {
  const files: Record<string, number> = {};
  for (const name of readdirSync(folder)) if (!UNCOUNTED.has(name)) files[name] = statSync(join(folder, name)).size;
  return files;
}
