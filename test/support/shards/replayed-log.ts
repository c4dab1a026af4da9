import type { AppliedEntry, LogEntry, SettledWrite } from '../../../node/replication/core/replica-state';
import { operationsFromBytes } from '../../../shared/contract/writes/operation-codec';
import type { ShardSpec, WriteResult } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import { PlainShardClient } from './plain-shard-client';
import { NO_HURRY } from './shard-node';

/** What a log means: items in insertion order, what applying answered, what may be asked for again. */
export interface ReplayedLog {
  items: StoredItem[];
  results: AppliedEntry[];
  settled: SettledWrite[];
}

/** Applies the entries from the first on, one after the other, to a plain shard. */
export async function replay(spec: ShardSpec, entries: LogEntry[]): Promise<ReplayedLog> {
  const plain = new PlainShardClient();
  await plain.make(spec);
  const results: AppliedEntry[] = [];
  const sessions = new Map<string, { below: number; writes: Map<number, { sequence: number; result: WriteResult }> }>();
  for (const { sequence, write } of entries) {
    const result: AppliedEntry = { sequence, result: null };
    results.push(result);
    if (write === null) continue;
    const { session, requestNumber, settledBelow } = write.source;
    const known = sessions.get(session) ?? { below: 0, writes: new Map() };
    sessions.set(session, known);
    const before = known.writes.get(requestNumber);
    const isGivenUp = requestNumber < known.below;
    known.below = Math.max(known.below, settledBelow);
    for (const number of known.writes.keys()) if (number < known.below) known.writes.delete(number);
    if (before !== undefined) result.duplicateOf = before.sequence;
    else if (!isGivenUp) {
      result.result = await plain.write(spec, operationsFromBytes(write.payload), NO_HURRY);
      known.writes.set(requestNumber, { sequence, result: result.result });
    }
  }
  const settled = [...sessions].flatMap(([session, { writes }]) =>
    [...writes].map(([requestNumber, one]) => ({ session, requestNumber, ...one })),
  );
  return {
    items: await plain.read(
      spec,
      'scan',
      { after: null, limit: 1_000_000, filter: null, vectors: true, versions: true },
      NO_HURRY,
    ),
    results,
    settled,
  };
}
