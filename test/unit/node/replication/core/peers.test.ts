import { CommitProgress } from '../../../../../node/replication/core/commit-progress';
import type { AppendResult } from '../../../../../node/replication/core/messages';
import { Peers } from '../../../../../node/replication/core/peers';
import { StableLog } from '../../../../../node/replication/core/stable-log';

const STATE = {
  promisedEpoch: 3,
  lastLedEpoch: 2,
  firstSequence: 1,
  lastSequence: 9,
  precedingEpoch: 0,
  appliedSequence: 9,
  settled: [],
};
const EPOCH_STARTS = [
  { epoch: 1, sequence: 1 },
  { epoch: 3, sequence: 6 },
];

/** A primary of epoch 3 with nine entries, and b, which has had all of them: it said so of what was sent at 100. */
function peersOf({ isComplete = false, trimmed = {} as Partial<typeof STATE> } = {}) {
  const emitted: string[] = [];
  const emit = ({ type }: { type: string }): void => void emitted.push(type);
  const log = new StableLog({ state: { ...STATE, epochStarts: EPOCH_STARTS, ...trimmed }, emit });
  const progress = new CommitProgress({ applied: 9, emit });
  const self = { node: 'a', store: 'a.0' };
  const peers = new Peers({
    self,
    epoch: 3,
    log,
    progress,
    inherited: [],
    mustBeComplete: () => isComplete,
    shareWith: () => 0,
    nowMs: 0,
    emit,
  });
  peers.reconcile(['b'], 0);
  const says = (result: AppendResult, sentAt: number, nowMs: number, store = 'b.0'): void => {
    peers.answered({ epoch: 3, replica: { node: 'b', store }, sentAt, awaited: 0, result }, nowMs);
  };
  const b = peers.byNode.get('b')!;
  says({ type: 'match', match: 9, agreed: 9 }, 100, 101);
  return {
    peers,
    says,
    known: () => [b.match, b.next, b.leaseUntil > 0],
    copies: () => emitted.filter((type) => type === 'snapshot').length,
  };
}

const mismatch = (sequence: number, epoch: number): AppendResult => ({
  type: 'mismatch',
  prev: 9,
  hint: { sequence, epoch },
});

describe('what a peer says that has less than it had', () => {
  test.each<[string, AppendResult, number]>([
    ['nothing', mismatch(0, 0), 1],
    ['a part', mismatch(4, 1), 5],
    ['as much, of an earlier epoch', mismatch(9, 2), 6],
    ['a part, which is asked for', { type: 'match', match: 7, agreed: 7 }, 8],
  ])('takes back what is known of it: %s', (_what, result, next) => {
    const { says, known } = peersOf();
    says(result, 3000, 3001);
    expect(known()).toEqual([0, next, false]);
  });

  test('counts nothing of what was said before it was heard of', () => {
    const { says, known } = peersOf();
    says(mismatch(0, 0), 3000, 3001);
    // Of its earlier life, and late. It answers what was sent while it lived.
    says({ type: 'match', match: 9, agreed: 9 }, 200, 3002);
    says({ type: 'match', match: 9, agreed: 9 }, 3001, 3003);
    expect(known()).toEqual([0, 1, false]);
    says({ type: 'match', match: 2, agreed: 2 }, 3002, 3004);
    // The rest is sent to it.
    expect(known()).toEqual([2, 10, true]);
  });

  test.each<[string, AppendResult, number, { isComplete?: boolean }]>([
    ['late', mismatch(0, 0), 99, {}],
    ['answer the same message', mismatch(0, 0), 100, {}],
    ['come from one that counts as complete', mismatch(0, 0), 3000, { isComplete: true }],
    ['say that all is there', { type: 'match', match: 9, agreed: 9 }, 3000, {}],
  ])('does not take it back for answers that %s', (_what, result, sentAt, options) => {
    const { says, known } = peersOf(options);
    says(result, sentAt, 3001);
    expect(known()).toEqual([9, 10, true]);
  });
});

test('a peer that answers before its copy has ended gets another copy when it needs one again', () => {
  const { peers, says, copies } = peersOf({ trimmed: { firstSequence: 6, precedingEpoch: 1 } });
  says(mismatch(0, 0), 3000, 3001);
  expect(copies()).toBe(1);
  says({ type: 'match', match: 9, agreed: 9 }, 3002, 3003);
  peers.snapshotEnded('b', 3004);
  expect(copies()).toBe(1);
  says(mismatch(0, 0), 6000, 6001);
  expect(copies()).toBe(2);
  // While that one is under way, it is not asked for again.
  says(mismatch(0, 0), 6002, 6003);
  expect(copies()).toBe(2);
});
