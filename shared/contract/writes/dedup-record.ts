import { QuiverError } from '../../base/errors/quiver-error';
import { outcomesFromBytes, outcomesToBytes, type WriteOutcome } from './write-outcome';

/**
 * What the marks of one shard may take: some 400,000 writes of single items. Beyond it the oldest are given up first.
 */
export const DEDUP_BYTES_MAX = 64 * 1024 * 1024;

/**
 * What a shard remembers of a write that is done once (DedupOperation). It names no item to anyone who
 * lacks the request, so a purge leaves it.
 */
export interface DedupRecord {
  token: string;
  digest: string;
  /** Wall time of the coordinator that wrote it, plus the time for which it is kept. */
  expiresAtMs: number;
  /** Its number among the marks of the shard, which rises; another one when it is changed. */
  sequence: number;
  /** What became of the operations, in the order in which they were done. */
  entries: DedupEntry[];
  /** The write was refused as a whole, with this, which its writer has sealed; null: it was not. */
  verdict: string | null;
  /** Of a write in steps: how far this shard is. */
  progress: DedupProgress | null;
  /** How far shards were whose place this one has taken. */
  earlier: (DedupProgress & { origin: string })[];
}

/** The hash of an item's id decides which shard has it, so entries can follow the items to other shards. */
export interface DedupEntry {
  hash: number;
  outcome: WriteOutcome;
  /** That the item got; of a conflict, that of the item that was there. 0: none. */
  version: number;
}

export interface DedupProgress {
  /** The next step. */
  step: number;
  done: number;
  /** Items that could not be changed, and the first of them, sealed (step-note.ts). */
  excess: number;
  first: string | null;
  /** Of the last step, sealed. */
  note: string;
}

const HEAD_BYTES = 16 + 16 + 8 + 8 + 4;
/** hash u32, outcome u8, version f64 */
const ENTRY_BYTES = 13;

type Rest = Pick<DedupRecord, 'verdict' | 'progress' | 'earlier'>;

/** token, digest, expiry f64, number f64, u32 bytes of what else there is as JSON, that, entries. */
export function dedupToBytes(record: DedupRecord): Buffer {
  const { verdict, progress, earlier, entries } = record;
  const hasRest = verdict !== null || progress !== null || earlier.length > 0;
  const rest = Buffer.from(hasRest ? JSON.stringify({ verdict, progress, earlier } satisfies Rest) : '');
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + rest.length + entries.length * ENTRY_BYTES);
  bytes.write(record.token, 0, 16, 'hex');
  bytes.write(record.digest, 16, 16, 'hex');
  bytes.writeDoubleLE(record.expiresAtMs, 32);
  bytes.writeDoubleLE(record.sequence, 40);
  bytes.writeUInt32LE(rest.length, 48);
  rest.copy(bytes, HEAD_BYTES);
  const outcomes = outcomesToBytes(entries.map(({ outcome }) => outcome));
  let at = HEAD_BYTES + rest.length;
  for (const [i, { hash, version }] of entries.entries()) {
    bytes.writeUInt32LE(hash, at);
    bytes[at + 4] = outcomes[i];
    bytes.writeDoubleLE(version, at + 5);
    at += ENTRY_BYTES;
  }
  return bytes;
}

/** Errors: internal when the bytes are malformed. */
export function dedupFromBytes(bytes: Buffer): DedupRecord {
  const restBytes = bytes.length < HEAD_BYTES ? 0 : bytes.readUInt32LE(48);
  const count = (bytes.length - HEAD_BYTES - restBytes) / ENTRY_BYTES;
  if (!Number.isInteger(count) || count < 0) throw new QuiverError('internal', 'malformed mark');
  const rest: Rest =
    restBytes === 0
      ? { verdict: null, progress: null, earlier: [] }
      : (JSON.parse(bytes.toString('utf8', HEAD_BYTES, HEAD_BYTES + restBytes)) as Rest);
  const entries = Array.from({ length: count }, (_, i): DedupEntry => {
    const at = HEAD_BYTES + restBytes + i * ENTRY_BYTES;
    return {
      hash: bytes.readUInt32LE(at),
      outcome: outcomesFromBytes(bytes.subarray(at + 4, at + 5))[0],
      version: bytes.readDoubleLE(at + 5),
    };
  });
  return {
    token: bytes.toString('hex', 0, 16),
    digest: bytes.toString('hex', 16, 32),
    expiresAtMs: bytes.readDoubleLE(32),
    sequence: bytes.readDoubleLE(40),
    ...rest,
    entries,
  };
}

/** The number of a mark, from its bytes. */
export function sequenceOfDedupBytes(bytes: Buffer): number {
  return bytes.readDoubleLE(40);
}

/** Marks one after the other, each behind its length as u32. */
export function dedupListToBytes(records: readonly DedupRecord[]): Buffer {
  return Buffer.concat(
    records.flatMap((record) => {
      const bytes = dedupToBytes(record);
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  );
}

/** Errors: internal when the bytes are malformed. */
export function dedupListFromBytes(bytes: Buffer): DedupRecord[] {
  const records: DedupRecord[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = at + 4 > bytes.length ? Infinity : bytes.readUInt32LE(at);
    if (at + 4 + length > bytes.length) throw new QuiverError('internal', 'malformed marks');
    records.push(dedupFromBytes(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return records;
}
