import type { Once } from '../../../../../coordinator/service/idempotency/write-dedup';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import { shardOf } from '../../../../../coordinator/service/routing/shard-router';
import { ShardSets } from '../../../../../coordinator/service/routing/shard-sets';
import { writeMatchingOnce } from '../../../../../coordinator/service/vectors/filtered-write-once';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import { keptNote, stepNote } from '../../../../../shared/contract/shard/step-note';
import type { DedupRecord } from '../../../../../shared/contract/writes/dedup-record';
import type { ShardClient, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import { systemClock } from '../../../../../shared/base/time/clock';

/** A deletion by filter that is done once, and was begun with shards of earlier sets. */

const SEALING_KEY = 'a'.repeat(64);
const once: Once = {
  token: '1'.repeat(32),
  digest: '2'.repeat(32),
  sealingKey: SEALING_KEY,
  repeated: () => undefined,
};
const collection = { uid: 'now', identity: 'c', name: 'c', shards: 1, dim: 2 };
/** One item in each of two shards. */
const items = [0, 1].map((shard) =>
  Array.from({ length: 100 }, (_, n) => `id-${n}`).find((id) => shardOf(id, 2) === shard)!,
);

/**
 * What the one shard that there is now remembers of shards, each of which was one of two, that have dealt with
 * everything.
 */
function dedupOf(origins: { origin: string; shard: number }[]): DedupRecord {
  const note = (shard: number): string =>
    keptNote(stepNote(JSON.stringify({ shards: 2, shard, reached: 'all' }), SEALING_KEY));
  const earlier = origins.map(({ origin, shard }) => ({
    origin,
    step: 1,
    done: 1,
    excess: 0,
    first: null,
    note: note(shard),
  }));
  return {
    token: once.token,
    digest: once.digest,
    expiresAtMs: Infinity,
    sequence: 1,
    entries: [],
    verdict: null,
    progress: null,
    earlier,
  };
}

/** Repeats the deletion. Answers what was deleted now. */
async function repeat(dedup: DedupRecord): Promise<string[]> {
  const deleted: string[] = [];
  const read = async (_: unknown, kind: string): Promise<unknown> =>
    kind === 'marks'
      ? [dedup]
      : items.map((externalId, n) => ({ externalId, stamp: n + 1, metadata: '{}', text: null }));
  const write = async (_: unknown, [, ...operations]: WriteOperation[]): Promise<unknown> => {
    for (const operation of operations) if (operation.type === 'delete') deleted.push(operation.externalId);
    return { outcomes: ['updated', ...operations.map(() => 'deleted')], firstVersion: 0, present: [] };
  };
  const scatter = new ScatterGather({ clock: systemClock, timeoutMs: 10_000, uidOf: async () => 'now' });
  const sets = new ShardSets({
    catalog: { known: () => collection, find: async () => collection },
    clock: systemClock,
  });
  const parts = { shards: { read, write } as unknown as ShardClient, scatter, sets, clock: systemClock };
  await writeMatchingOnce(
    parts,
    collection,
    { filter: {} as Filter, done: 'deleted', operationOf: (externalId) => ({ type: 'delete', externalId }) },
    scatter.begin(),
    once,
  );
  return deleted;
}

test('what all shards of one set have dealt with is done', async () => {
  expect(
    await repeat(
      dedupOf([
        { origin: 'first.0', shard: 0 },
        { origin: 'first.1', shard: 1 },
      ]),
    ),
  ).toEqual([]);
});

test('two sets of as many shards, of which the same one has dealt with everything, leave the rest to be done', async () => {
  expect(
    await repeat(
      dedupOf([
        { origin: 'first.0', shard: 0 },
        { origin: 'third.0', shard: 0 },
      ]),
    ),
  ).toEqual([items[1]]);
});
