import { join } from 'node:path';
import type { AppendMessage } from '../../../../../node/replication/core/messages';
import { ShardReplica } from '../../../../../node/replication/core/shard-replica';
import { testGoldenScripts } from '../../../../support/golden-script';
import { replicaStory } from '../../../../support/replica-story';

describe('in a shard', () => {
  testGoldenScripts(join(__dirname, 'golden'), replicaStory);
});

test('a store that holds less than was recorded of it is lossy, unless a later primary may have cut it', () => {
  const B = { node: 'B', store: 'B.0' };
  const empty = { lastLedEpoch: 0, firstSequence: 1, lastSequence: 0, precedingEpoch: 0, epochStarts: [], appliedSequence: 0, settled: [] };
  const lossiness = (epoch: number): unknown[] => {
    const replica = new ShardReplica({ self: B, changeIdPrefix: 'B', state: { ...empty, promisedEpoch: epoch }, unapplied: [], nowMs: 0 });
    const recorded = [{ replica: B, epoch: 1, match: 7 }];
    const message: AppendMessage = { epoch, from: 'A', prev: { epoch: 0, sequence: 0 }, commit: 0, sentAt: 1, releasesLease: false, sharesSince: 0, withdrawsShare: false, recorded, entries: [] };
    return replica.step({ type: 'append', message }, 1).filter(({ type }) => type === 'lossy');
  };
  expect(lossiness(1)).toEqual([{ type: 'lossy', recorded: 7, last: 0 }]);
  expect(lossiness(2)).toEqual([]);
});
