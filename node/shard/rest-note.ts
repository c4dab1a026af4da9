import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { replaceFile, syncFolder } from '../../shared/files/stable-folder';
import type { ShardSpec } from '../../shared/shard/shard-client';
import type { ShardStatus } from '../../shared/shard/shard-read';
import { specText } from '../records/shard-format';
import type { ShardObservation } from './shard-observation';

/** Beside the records of a shard that was closed with everything saved. */
const REST_NAME = 'rest.json';
const REST_FORMAT = 1;
/** In the folder of the shard. */
const RECORDS = 'records';
/** What RocksDB writes at any time without a change of the records: its lock has no content. */
const UNCOUNTED = new Set(['LOCK']);

/** What is known of a shard while it is closed: what lists, metrics and health show of it. */
export interface RestFacts {
  status: ShardStatus;
  checkpoint: ShardObservation['checkpoint'];
  marks: ShardObservation['marks'];
  /** When the first of its items expires, which is then removed; null: none does. */
  expiresAtMs: number | null;
}

/** Files of the records, by name with their bytes. */
type Files = Record<string, number>;

/**
 * Notes durably how a shard was when it was closed. `folder`: the shard's, whose records are closed and on stable storage. It
 * counts until they are opened, which gives them other files. Errors: those of the file system.
 */
export async function writeRest(folder: string, spec: ShardSpec, facts: RestFacts): Promise<void> {
  const content = JSON.stringify({ spec: specText(spec), facts, files: filesIn(join(folder, RECORDS)) });
  await replaceFile(join(folder, REST_NAME), JSON.stringify({ format: REST_FORMAT, crc: crc32(content), content }));
  await syncFolder(folder);
}

/**
 * What was noted of this shard, if its records are still as they were then: every file is there, as long as it was. null: only an
 * opening tells. Never throws. It reads a few names and lengths, at once: thousands of shards are looked at when a process starts.
 */
export function readRest(folder: string, spec: ShardSpec): RestFacts | null {
  try {
    const { format, crc, content } = JSON.parse(readFileSync(join(folder, REST_NAME), 'utf8')) as { format: number; crc: number; content: string };
    if (format !== REST_FORMAT || crc32(content) !== crc) return null;
    const { spec: noted, facts, files } = JSON.parse(content) as { spec: string; facts: RestFacts; files: Files };
    if (noted !== specText(spec)) return null;
    const found = filesIn(join(folder, RECORDS));
    const names = Object.keys(files);
    const isSame = names.length === Object.keys(found).length && names.every((name) => found[name] === files[name]);
    return isSame ? facts : null;
  } catch {
    return null;
  }
}

function filesIn(folder: string): Files {
  const files: Files = {};
  for (const name of readdirSync(folder)) if (!UNCOUNTED.has(name)) files[name] = statSync(join(folder, name)).size;
  return files;
}
