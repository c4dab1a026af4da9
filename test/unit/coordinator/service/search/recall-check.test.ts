import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { DeepReads } from '../../../../../coordinator/service/routing/deep-reads';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import { shardOf } from '../../../../../coordinator/service/routing/shard-router';
import { ShardedSamplesService } from '../../../../../coordinator/service/sampling/sharded-samples-service';
import { COMPARED_MAX, RecallCheck } from '../../../../../coordinator/service/search/recall-check';
import type { ShardClient, ShardId } from '../../../../../shared/contract/shard/shard-client';
import type { RequestOf, VectorSearch, VectorSearchResult } from '../../../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../../../shared/base/time/clock';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';

/** A clock that goes on by itself, a millisecond at a look. */
class SteppedClock implements Pick<Clock, 'monotonicMs' | 'wallMs'> {
  nowMs = 0;
  stepMs = 1;
  monotonicMs(): number {
    return (this.nowMs += this.stepMs);
  }
  wallMs(): number {
    return this.nowMs;
  }
}

const RECORD = { uid: 'u', name: 'c', dim: 2, metric: 'ip', shards: 1 } as CollectionRecord;
const CALL = { deadlineMs: Infinity };

type Search = (request: VectorSearch, id: ShardId) => VectorSearchResult;

function checkOver(
  shards: Pick<ShardClient, 'read'>,
  { record = RECORD, clock = new SteppedClock() } = {},
): RecallCheck {
  const given = {
    clock: clock as Clock,
    shards,
    catalog: { known: () => record, find: async () => record, shown: async () => record },
  };
  const scatter = new ScatterGather({ clock: given.clock, timeoutMs: 10_000, uidOf: async ({ uid }) => uid });
  const samples = new ShardedSamplesService({ ...given, scatter, deep: new DeepReads(given.clock) });
  return new RecallCheck({ ...given, scatter, samples });
}

/** One shard that answers searches as it is told. */
function scripted(search: Search, rows = 100): Pick<ShardClient, 'read'> {
  const answers: Record<string, (request: never, id: ShardId) => unknown> = { count: () => rows, search };
  return { read: async (id, kind, request) => answers[kind](request as never, id) as never };
}

function hits(scores: number[]): VectorSearchResult['hits'] {
  return scores.map((score, i) => ({ externalId: `v${i}-${score}`, score, metadata: '{}' }));
}

const request = { samples: undefined, seed: 1, k: 4, filter: null };
const queries = (count: number): Float32Array[] => Array.from({ length: count }, (_, i) => Float32Array.of(i, 1));

/** Calibrated searches of even queries miss the last of four, those of odd ones nothing. */
const missingOne: Search = ({ vector, effort }) => {
  const isMissed = effort.type === 'calibrated' && vector[0] % 2 === 0;
  return { hits: hits(isMissed ? [9, 8, 7, 1] : [9, 8, 7, 6]), vectorCount: 100, cost: { scored: 40, rescored: 5 } };
};

test('recall is the share of exact answers that were found, with its standard error', async () => {
  const report = await checkOver(scripted(missingOne)).check('c', { ...request, queries: queries(10) });
  expect(report).toMatchObject({ queries: 10, recall: 0.875, scored: 40, rescored: 5 });
  // Five of .75 and five of 1.
  expect(report.standardError).toBeCloseTo(Math.sqrt(0.015625 / 9), 6);
  expect(report.calibratedMs).toBeGreaterThan(0);
  expect(
    (await checkOver(scripted(missingOne)).check('c', { ...request, queries: queries(1) })).standardError,
  ).toBeNull();
});

test('what ties with the last exact answer counts, however far its last digits are off', async () => {
  const tied: Search = ({ effort }) => ({
    hits: hits(effort.type === 'exact' ? [9, 8, 7, 6] : [9, 8, 7, 5.999999]),
    vectorCount: 100,
  });
  expect(await checkOver(scripted(tied)).check('c', { ...request, queries: queries(2) })).toMatchObject({
    recall: 1,
    scored: null,
    rescored: null,
  });
});

test('samples are the same for any number of shards, each without itself', async () => {
  const reports = [];
  for (const shards of [1, 3]) {
    const client = new PlainShardClient();
    const record = { ...RECORD, shards } as CollectionRecord;
    for (let shard = 0; shard < shards; shard++) await client.make({ collectionUid: 'u', shard, dim: 2, metric: 'ip' });
    for (let i = 0; i < 60; i++) {
      const id = { collectionUid: 'u', shard: shardOf(`v${i}`, shards) };
      await client.write(
        id,
        [
          {
            type: 'upsert',
            externalId: `v${i}`,
            vector: Float32Array.of(Math.sin(i), Math.cos(i)),
            stamp: i,
            metadata: undefined,
            text: undefined,
          },
        ],
        CALL,
      );
    }
    const asked: RequestOf<'search'>[] = [];
    const noted: Pick<ShardClient, 'read'> = {
      read: (id, kind, read, call) => {
        if (kind === 'search' && id.shard === 0) asked.push(read as RequestOf<'search'>);
        return client.read(id, kind, read, { ...call, deadlineMs: Infinity });
      },
    };
    const report = await checkOver(noted, { record }).check('c', { ...request, queries: null, samples: 20 });
    expect(report).toMatchObject({ queries: 20, recall: 1 });
    expect(asked.every(({ k }) => k === request.k + 1)).toBe(true);
    reports.push({ vectors: asked.map(({ vector }) => [...vector]), rescored: report.rescored });
  }
  expect(reports[0]).toEqual(reports[1]);
});

test('queries × vectors are bounded: more are refused, and fewer are drawn where there are many', async () => {
  const rows = COMPARED_MAX / 20;
  const refused = checkOver(scripted(missingOne, rows)).check('c', { ...request, queries: queries(21) });
  await expect(refused).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('at most 20'),
  });
  const drawn: number[] = [];
  const shards: Pick<ShardClient, 'read'> = {
    read: async (_id, kind, read) => {
      if (kind === 'count') return rows as never;
      drawn.push((read as RequestOf<'sample'>).size);
      return { population: 0, externalIds: [], keys: new Float64Array(0) } as never;
    },
  };
  await checkOver(shards).check('c', { ...request, queries: null });
  expect(drawn).toEqual([20]);
});

test('no further query is asked when most of the time is over', async () => {
  const clock = new SteppedClock();
  clock.stepMs = 500;
  const report = await checkOver(scripted(missingOne), { clock }).check('c', { ...request, queries: queries(100) });
  expect(report.queries).toBeGreaterThan(0);
  expect(report.queries).toBeLessThan(10);
});

test('one check runs at a time; the next may begin when it is over, or has failed', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const shards: Pick<ShardClient, 'read'> = {
    read: async () => {
      await held;
      throw new Error('broken');
    },
  };
  const check = checkOver(shards);
  const first = check.check('c', { ...request, queries: queries(1) });
  await expect(check.check('c', { ...request, queries: queries(1) })).rejects.toMatchObject({ kind: 'overloaded' });
  release();
  await expect(first).rejects.toThrow('broken');
  await expect(check.check('c', { ...request, queries: queries(1) })).rejects.toThrow('broken');
});
