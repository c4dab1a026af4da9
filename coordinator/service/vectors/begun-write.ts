import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { DedupEntry, DedupRecord } from '../../../shared/contract/writes/dedup-record';
import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { hashExternalId, shardOf } from '../routing/shard-router';
import { openText, sealText } from '../../../shared/base/secret/sealed-text';
import { keyReused, type Once } from '../idempotency/write-dedup';

/** What is kept of a refusal. */
interface Verdict {
  message: string;
  shown?: Record<string, unknown> | undefined;
}

/** The marks of a token in all shards, null where there is none. Errors: key_reused; those of the shards. */
export async function dedupRecordsOf(
  { scatter, shards }: { scatter: ScatterGather; shards: Pick<ShardClient, 'read'> },
  collection: ShardedCollection,
  { token, digest }: Pick<Once, 'token' | 'digest'>,
  nowMs: number,
  call: CallOptions,
): Promise<(DedupRecord | null)[]> {
  const found = await scatter.readAll(collection, call, (id) =>
    shards.read(id, 'marks', { token, after: 0, limit: 1 }, call),
  );
  const alive = found.map(([dedup]) => (dedup === undefined || dedup.expiresAtMs <= nowMs ? null : dedup));
  if (alive.some((dedup) => dedup !== null && dedup.digest !== digest)) throw keyReused();
  return alive;
}

export function verdictText({ message, shown }: QuiverError, { sealingKey }: Pick<Once, 'sealingKey'>): string {
  return sealText(JSON.stringify({ message, shown } satisfies Verdict), sealingKey);
}

/**
 * The conflict with which a write was refused before. Says that it was. Errors: internal when there is none any more.
 */
export async function judgedBefore(
  shards: Pick<ShardClient, 'read'>,
  id: ShardId,
  { token, sealingKey, repeated }: Once,
  call: CallOptions,
): Promise<QuiverError> {
  const [dedup] = await shards.read(id, 'marks', { token, after: 0, limit: 1 }, call);
  const verdict = dedup === undefined || dedup.verdict === null ? null : openText(dedup.verdict, sealingKey);
  if (verdict === null)
    return new QuiverError('unavailable', 'what became of this request is no longer known; the call may be retried');
  repeated();
  return refusalIn(verdict);
}

/**
 * What became of each operation of a write, by the ids in their order, from the marks of all shards of its collection;
 * null: some of it is still to be done. Errors: conflict, with which it was refused as a whole.
 */
export function notedOutcomes(
  marks: readonly (DedupRecord | null)[],
  externalIds: readonly string[],
  { sealingKey }: Pick<Once, 'sealingKey'>,
): Pick<DedupEntry, 'outcome' | 'version'>[] | null {
  const verdict = marks.find((dedup) => dedup !== null && dedup.verdict !== null)?.verdict ?? null;
  const text = verdict === null ? null : openText(verdict, sealingKey);
  if (text !== null) throw refusalIn(text);
  // As the shards do: by the hash of an id, those of one in their order.
  const noted = marks.map((dedup) => {
    const byHash = new Map<number, DedupEntry[]>();
    for (const entry of dedup?.entries ?? []) {
      const entries = byHash.get(entry.hash);
      if (entries === undefined) byHash.set(entry.hash, [entry]);
      else entries.push(entry);
    }
    return byHash;
  });
  const outcomes: DedupEntry[] = [];
  for (const externalId of externalIds) {
    const entry = noted[shardOf(externalId, marks.length)].get(hashExternalId(externalId))?.shift();
    if (entry === undefined) return null;
    outcomes.push(entry);
  }
  return outcomes;
}

function refusalIn(verdict: string): QuiverError {
  const { message, shown } = JSON.parse(verdict) as Verdict;
  return new QuiverError('conflict', message, shown === undefined ? {} : { shown });
}
