import { join } from 'node:path';
import type { AppendMessage } from '../../../../../node/replication/core/messages';
import { ShardReplica } from '../../../../../node/replication/core/shard-replica';
import { testGoldenScripts } from '../../../../support/stories/golden-script';
import { replicaStory } from '../../../../support/stories/replica-story';

describe('in a shard', () => {
  testGoldenScripts(join(__dirname, 'golden'), replicaStory);
});

test('a store that holds less than was recorded of it is lossy, unless a later primary may have cut it', () => {
  const B = { node: 'B', store: 'B.0' };
  const empty = {
    lastLedEpoch: 0,
    firstSequence: 1,
    lastSequence: 0,
    precedingEpoch: 0,
    epochStarts: [],
    appliedSequence: 0,
    settled: [],
  };
  const lossiness = (epoch: number): unknown[] => {
    const replica = new ShardReplica({
      self: B,
      changeIdPrefix: 'B',
      state: { ...empty, promisedEpoch: epoch },
      unapplied: [],
      nowMs: 0,
    });
    const recorded = [{ replica: B, epoch: 1, match: 7 }];
    const message: AppendMessage = {
      epoch,
      from: 'A',
      prev: { epoch: 0, sequence: 0 },
      commit: 0,
      sentAt: 1,
      releasesLease: false,
      sharesSince: 0,
      withdrawsShare: false,
      recorded,
      entries: [],
    };
    return replica.step({ type: 'append', message }, 1).filter(({ type }) => type === 'lossy');
  };
  expect(lossiness(1)).toEqual([{ type: 'lossy', recorded: 7, last: 0 }]);
  expect(lossiness(2)).toEqual([]);
});

test('an entry of a later epoch than its sender leads in is not taken: it is of the successor, into whose place it would come', () => {
  const B = { node: 'B', store: 'B.0' };
  const state = {
    promisedEpoch: 5,
    lastLedEpoch: 0,
    firstSequence: 1,
    lastSequence: 0,
    precedingEpoch: 0,
    epochStarts: [],
    appliedSequence: 0,
    settled: [],
  };
  const replica = new ShardReplica({ self: B, changeIdPrefix: 'B', state, unapplied: [], nowMs: 0 });
  const append = (...epochs: number[]): string[] => {
    const entries = epochs.map((epoch, i) => ({ sequence: i + 1, epoch, write: null }));
    const message: AppendMessage = {
      epoch: 5,
      from: 'A',
      prev: { epoch: 0, sequence: 0 },
      commit: 0,
      sentAt: 1,
      releasesLease: false,
      sharesSince: 0,
      withdrawsShare: false,
      recorded: [],
      entries,
    };
    return replica.step({ type: 'append', message }, 1).map(({ type }) => type);
  };
  expect(append(5, 6)).toEqual([]);
  expect(append(4, 5)).toContain('append');
});

test('quiet shards have their heartbeats at the same moments, whenever they fell quiet', () => {
  /** Of a shard that is written to at `atMs`: when it has heartbeats, in 200 ms some seconds later. */
  const momentsOf = (atMs: number): number[] => {
    const story = replicaStory();
    const wait = (ms: number): string[] => story({ name: 'count', words: [String(ms)], options: {} });
    // Serving since 150.
    story({ name: 'serving-shard', words: ['a', 'b'], options: {} });
    wait(atMs - 150);
    story({ name: 'write', words: ['a'], options: { x: '1' } });
    wait(5_000 - atMs);
    return Array.from({ length: 200 }, (_, i) => i).filter(() => wait(1).some((line) => line.startsWith('a → b')));
  };
  const moments = [500, 537, 600, 671, 700, 733].map(momentsOf);
  expect(moments).toEqual(moments.map(() => [expect.any(Number)]));
  expect(new Set(moments.flat()).size).toBe(1);
});
