import { QuiverError } from '../../shared/errors/quiver-error';
import type { MarkRecord } from '../../shared/shard/mark-record';
import type { CallOptions, ShardClient, ShardId } from '../../shared/shard/shard-client';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { keyReused, type Once } from '../idempotency/write-mark';

/** What is kept of a refusal. */
interface Verdict {
  message: string;
  shown?: Record<string, unknown> | undefined;
}

/** The marks of a token in all shards, null where there is none. Errors: key_reused; those of the shards. */
export async function marksOf(
  { scatter, shards }: { scatter: ScatterGather; shards: Pick<ShardClient, 'read'> },
  collection: ShardedCollection,
  { token, digest }: Pick<Once, 'token' | 'digest'>,
  nowMs: number,
  call: CallOptions,
): Promise<(MarkRecord | null)[]> {
  const found = await scatter.readAll(collection, call, (id) => shards.read(id, 'marks', { token, after: 0, limit: 1 }, call));
  const alive = found.map(([mark]) => (mark === undefined || mark.expiresAtMs <= nowMs ? null : mark));
  if (alive.some((mark) => mark !== null && mark.digest !== digest)) throw keyReused();
  return alive;
}

export function verdictText({ message, shown }: QuiverError): string {
  return JSON.stringify({ message, shown } satisfies Verdict);
}

/** The conflict with which a write was refused before. Says that it was. Errors: internal when there is none any more. */
export async function judgedBefore(shards: Pick<ShardClient, 'read'>, id: ShardId, { token, repeated }: Once, call: CallOptions): Promise<QuiverError> {
  const [mark] = await shards.read(id, 'marks', { token, after: 0, limit: 1 }, call);
  if (mark === undefined || mark.verdict === null) return new QuiverError('unavailable', 'what became of this request is no longer known; the call may be retried');
  repeated();
  const { message, shown } = JSON.parse(mark.verdict) as Verdict;
  return new QuiverError('conflict', message, shown === undefined ? {} : { shown });
}
