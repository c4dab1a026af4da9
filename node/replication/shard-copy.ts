import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../../shared/base/files/stable-folder';
import type { KeyValueChange, KeyValueEntry, KeyValueStore } from '../engine/kv/key-value-store';
import { SPEC_KEY } from '../engine/records/record-keys';
import { mustBeKnownShard } from '../engine/records/shard-format';
import {
  APPLIED_KEY,
  BASE_KEY,
  COPIED_RANGE,
  isCopied,
  pairFromBytes,
  pairToBytes,
  PROMISES_KEY,
} from './log/log-keys';
import { unlessMissing } from '../../shared/base/files/missing-file';

/**
 * A copy of a shard as a sequence of chunks, all from one consistent view of its store:
 *
 *   u32 checksum of what follows, u32 number of this chunk from 0, u32 number of entries
 *   each: u32 key bytes, u32 value bytes, key, value
 *
 * The last chunk has no entries. The applied position is among the entries; the log continues from there.
 */
const CHUNK_BYTES = 1024 * 1024;
const HEAD_BYTES = 12;

/**
 * The chunks of a copy. `besides`: entries that it has in the place of what the store has of them, as they are at its
 * end.
 */
export async function* chunksOf(
  store: KeyValueStore,
  besides: () => readonly KeyValueEntry[] = () => [],
): AsyncIterable<Buffer> {
  let number = 0;
  let entries: { key: Buffer; value: Buffer }[] = [];
  let bytes = 0;
  for await (const page of store.scan(COPIED_RANGE)) {
    for (const entry of page) {
      if (!isCopied(entry.key)) continue;
      entries.push(entry);
      bytes += entry.key.length + entry.value.length + 8;
      if (bytes < CHUNK_BYTES) continue;
      yield chunkToBytes(number++, entries);
      entries = [];
      bytes = 0;
    }
  }
  entries.push(...besides());
  if (entries.length > 0) yield chunkToBytes(number++, entries);
  yield chunkToBytes(number, []);
}

/**
 * Replaces the content of `folder`, whose store must be closed, with a copy. The copy is first written to another
 * folder, complete and on stable storage; nothing of the old data is left. The promises that the replica made are kept.
 * Answers the position up to which the copy reaches. Errors: storage_failed for a copy that is damaged, out of order or
 * ends early, unavailable when it may not replace the data, LaterFormatError for one of a later version. The old data
 * are still there then.
 */
export async function installCopy(parts: {
  folder: string;
  openStore: (folder: string) => Promise<KeyValueStore>;
  chunks: AsyncIterable<Buffer>;
  promises: { promisedEpoch: number; lastLedEpoch: number };
  /** Called when the copy is complete, just before it replaces the data. */
  mayBegin: (position: { sequence: number; epoch: number }) => boolean;
}): Promise<{ sequence: number; epoch: number }> {
  const incoming = `${parts.folder}.incoming`;
  const outgoing = `${parts.folder}.outgoing`;
  await Promise.all([rm(incoming, { recursive: true, force: true }), rm(outgoing, { recursive: true, force: true })]);
  await makeStableFolder(incoming);
  const store = await parts.openStore(join(incoming, 'records'));
  let position: { sequence: number; epoch: number };
  try {
    position = await fill(store, parts.chunks);
    const base: KeyValueChange[] = [
      { type: 'put', key: BASE_KEY, value: pairToBytes(position.sequence, position.epoch) },
      { type: 'put', key: PROMISES_KEY, value: pairToBytes(parts.promises.promisedEpoch, parts.promises.lastLedEpoch) },
    ];
    await store.write(base, { sync: true });
  } finally {
    await store.close();
  }
  await syncFolder(incoming);
  if (!parts.mayBegin(position))
    throw new QuiverError('unavailable', `a copy up to ${position.sequence} comes too late`);
  await unlessMissing(rename(parts.folder, outgoing));
  await rename(incoming, parts.folder);
  await syncFolder(dirname(parts.folder));
  await rm(outgoing, { recursive: true, force: true });
  return position;
}

/** Finishes or undoes an installation that a crash interrupted; does nothing if there was none. */
export async function settleCopy(folder: string): Promise<void> {
  // The old data were moved aside and the new ones have not replaced them yet. Only the old ones are certainly
  // complete.
  await rename(`${folder}.outgoing`, folder).catch(() => undefined);
  await Promise.all([
    rm(`${folder}.incoming`, { recursive: true, force: true }),
    rm(`${folder}.outgoing`, { recursive: true, force: true }),
  ]);
}

/** Removes what a replica has on the disk, and what an interrupted installation left beside it. */
export async function removeReplica(folder: string): Promise<void> {
  for (const path of [`${folder}.incoming`, `${folder}.outgoing`, folder])
    await rm(path, { recursive: true, force: true });
}

/**
 * The number of the shard to which a folder belongs, by its name: a replica, or what an installation left. null for any
 * other name.
 */
export function shardOfFolder(name: string): number | null {
  const match = /^(\d{1,9})(?:\.incoming|\.outgoing)?$/.exec(name);
  return match === null ? null : Number(match[1]);
}

async function fill(store: KeyValueStore, chunks: AsyncIterable<Buffer>): Promise<{ sequence: number; epoch: number }> {
  let expected = 0;
  let isComplete = false;
  for await (const chunk of chunks) {
    const { number, entries } = chunkFromBytes(chunk);
    if (isComplete || number !== expected) throw damaged('chunks are missing or out of order');
    expected += 1;
    if (entries.length === 0) isComplete = true;
    else
      await store.write(
        entries.map(({ key, value }) => ({ type: 'put', key, value })),
        { sync: false },
      );
  }
  if (!isComplete) throw damaged('it ends early');
  const [applied, spec] = await store.getMany([APPLIED_KEY, SPEC_KEY]);
  if (spec !== undefined) mustBeKnownShard('a copy of a shard', spec.toString());
  const [sequence, epoch] = applied === undefined ? [0, 0] : pairFromBytes(applied);
  return { sequence, epoch };
}

function chunkToBytes(number: number, entries: { key: Buffer; value: Buffer }[]): Buffer {
  const parts: Buffer[] = [Buffer.alloc(HEAD_BYTES)];
  for (const { key, value } of entries) {
    const lengths = Buffer.allocUnsafe(8);
    lengths.writeUInt32LE(key.length, 0);
    lengths.writeUInt32LE(value.length, 4);
    parts.push(lengths, key, value);
  }
  const bytes = Buffer.concat(parts);
  bytes.writeUInt32LE(number, 4);
  bytes.writeUInt32LE(entries.length, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

function chunkFromBytes(bytes: Buffer): { number: number; entries: { key: Buffer; value: Buffer }[] } {
  if (bytes.length < HEAD_BYTES || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4)))
    throw damaged('a chunk does not match its checksum');
  const entries: { key: Buffer; value: Buffer }[] = [];
  let at = HEAD_BYTES;
  for (let left = bytes.readUInt32LE(8); left > 0; left -= 1) {
    const valueAt = at + 8 + bytes.readUInt32LE(at);
    const end = valueAt + bytes.readUInt32LE(at + 4);
    entries.push({ key: bytes.subarray(at + 8, valueAt), value: bytes.subarray(valueAt, end) });
    at = end;
  }
  if (at !== bytes.length) throw damaged('a chunk of the wrong length');
  return { number: bytes.readUInt32LE(4), entries };
}

function damaged(what: string): QuiverError {
  return new QuiverError('storage_failed', `a copy of a shard cannot be used: ${what}`);
}
