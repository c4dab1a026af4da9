import { decidePromotion } from '../../../../../coordinator/cluster/promotion';
import type { ReplicaEffect } from '../../../../../node/replication/core/effects';
import { LogIndex } from '../../../../../node/replication/core/log-index';
import type { AppendMessage } from '../../../../../node/replication/core/messages';
import type { LogEntry, ReplicaState } from '../../../../../node/replication/core/replica-state';
import { ShardReplica } from '../../../../../node/replication/core/shard-replica';
import { LEASE_GRANTED_MS } from '../../../../../node/replication/core/timings';
import type { ShardAssignment } from '../../../../../shared/cluster/shard-assignment';

const EMPTY: ReplicaState = {
  promisedEpoch: 0,
  lastLedEpoch: 0,
  firstSequence: 1,
  lastSequence: 0,
  precedingEpoch: 0,
  epochStarts: [],
  appliedSequence: 0,
  settled: [],
};
const [A, B, C] = ['A', 'B', 'C'].map((node) => ({ node, store: `${node}.0` }));

function assignment(change: Partial<ShardAssignment> = {}): ShardAssignment {
  const spec = { collectionUid: 'c', shard: 0, dim: 1, metric: 'cosine' as const };
  return { spec, minInSync: 2, epoch: 1, primary: A, inSync: [A, B], eligible: [], replicas: ['A', 'B', 'C'], adding: [], removing: [], changeId: '', ...change };
}

function replicaOf(self: { node: string; store: string }, state: Partial<ReplicaState> = {}): ShardReplica {
  return new ShardReplica({ self, changeIdPrefix: self.node, state: { ...EMPTY, ...state }, unapplied: [], nowMs: 0 });
}

function entry(epoch: number, sequence: number): LogEntry {
  return { epoch, sequence, write: { source: { session: 's', requestNumber: sequence, settledBelow: 0 }, payload: Buffer.from('p') } };
}

function append(message: Partial<AppendMessage>): { type: 'append'; message: AppendMessage } {
  return { type: 'append', message: { epoch: 1, from: 'A', prev: { epoch: 0, sequence: 0 }, commit: 0, sentAt: 1, releasesLease: false, recorded: [], entries: [], ...message } };
}

function only<T extends ReplicaEffect['type']>(effects: ReplicaEffect[], type: T): Extract<ReplicaEffect, { type: T }>[] {
  return effects.filter((effect): effect is Extract<ReplicaEffect, { type: T }> => effect.type === type);
}

/** A primary of epoch 1 with entry 1, its barrier, committed and applied together with B; at time 2000. */
function servingPrimary(): { replica: ShardReplica; effects: ReplicaEffect[] } {
  const replica = replicaOf(A);
  replica.step({ type: 'assignment', assignment: assignment(), revision: 5 }, 0);
  replica.step({ type: 'stored', token: 1 }, 1);
  acknowledge(replica, 0, 1500);
  replica.step({ type: 'tick' }, LEASE_GRANTED_MS + 1);
  replica.step({ type: 'stored', token: 2 }, 2000);
  acknowledge(replica, 1, 2000);
  const effects = replica.step({ type: 'applied', upTo: 1, results: [{ sequence: 1, outcomes: null }] }, 2000);
  return { replica, effects };
}

function acknowledge(replica: ShardReplica, match: number, nowMs: number): ReplicaEffect[] {
  return replica.step({ type: 'appendAck', ack: { epoch: 1, replica: B, sentAt: nowMs, result: { type: 'match', match, agreed: match } } }, nowMs);
}

describe('a shard replica', () => {
  test('acknowledges entries only when they and the promise are on stable storage, heartbeats at once', () => {
    const replica = replicaOf(B);
    const taken = replica.step(append({ entries: [entry(1, 1)] }), 1);
    expect(only(taken, 'append')).toMatchObject([{ token: 1, promisedEpoch: 1, entries: [{ sequence: 1 }] }]);
    expect(only(taken, 'sendAck')).toEqual([]);
    expect(only(replica.step({ type: 'stored', token: 1 }, 2), 'sendAck')[0].ack.result).toEqual({ type: 'match', match: 1, agreed: 1 });
    replica.step(append({ prev: { epoch: 1, sequence: 1 }, entries: [entry(1, 2)] }), 3);
    const heartbeat = replica.step(append({ prev: { epoch: 1, sequence: 2 } }), 4);
    expect(only(heartbeat, 'sendAck')[0].ack.result).toEqual({ type: 'match', match: 1, agreed: 2 });
  });

  test('says that its store is lossy when it holds less than was recorded of it, unless a later primary may have cut it', () => {
    const recorded = [{ replica: B, epoch: 1, match: 7 }];
    expect(only(replicaOf(B, { promisedEpoch: 1 }).step(append({ recorded }), 1), 'lossy')).toEqual([{ type: 'lossy', recorded: 7, last: 0 }]);
    expect(only(replicaOf(B, { promisedEpoch: 2 }).step(append({ epoch: 2, recorded }), 1), 'lossy')).toEqual([]);
  });

  test('leads after its promise is stored and the lease granted by its last process is over', () => {
    const replica = replicaOf(A, { promisedEpoch: 1 });
    expect(only(replica.step({ type: 'assignment', assignment: assignment(), revision: 5 }, 0), 'sendAppend')).toEqual([]);
    expect(only(replica.step({ type: 'stored', token: 1 }, 1), 'sendAppend').map(({ to }) => to).sort()).toContain('B');
    expect(only(replica.step({ type: 'tick' }, LEASE_GRANTED_MS - 1), 'append')).toEqual([]);
    expect(only(replica.step({ type: 'tick' }, LEASE_GRANTED_MS + 1), 'append')).toMatchObject([{ entries: [{ epoch: 1, sequence: 1, write: null }] }]);
    expect(replica.mayServe(LEASE_GRANTED_MS + 1)).toBe('wait');
  });

  test('leads at once when it was made for this and has granted nothing', () => {
    const replica = new ShardReplica({ self: A, changeIdPrefix: 'a', state: { ...EMPTY, promisedEpoch: 1 }, isNew: true, unapplied: [], nowMs: 0 });
    replica.step({ type: 'assignment', assignment: assignment(), revision: 5 }, 0);
    expect(only(replica.step({ type: 'stored', token: 1 }, 1), 'append')).toMatchObject([{ entries: [{ epoch: 1, sequence: 1, write: null }] }]);
  });

  test('serves while the lease holds by the clock at the call, under the same epoch only', () => {
    const { replica } = servingPrimary();
    expect(replica.mayServe(2000)).toBe('yes');
    expect(replica.leaseValid(1, 2000 + 1274)).toBe(true);
    expect(replica.leaseValid(1, 2000 + 1276)).toBe(false);
    expect(replica.leaseValid(2, 2000)).toBe(false);
  });

  test('answers a write once it is applied, and the same one sent again from memory', () => {
    const { replica } = servingPrimary();
    const source = { session: 's', requestNumber: 1, settledBelow: 1 };
    const write = { type: 'write' as const, source, payload: Buffer.from('p') };
    expect(only(replica.step({ ...write, writeId: 1 }, 2001), 'append')).toHaveLength(1);
    expect(only(replica.step({ ...write, writeId: 2 }, 2002), 'append')).toEqual([]);
    replica.step({ type: 'stored', token: 3 }, 2003);
    expect(only(acknowledge(replica, 2, 2004), 'apply')).toEqual([{ type: 'apply', upTo: 2 }]);
    const answered = only(replica.step({ type: 'applied', upTo: 2, results: [{ sequence: 2, outcomes: ['inserted'] }] }, 2005), 'answer');
    expect(answered).toEqual([1, 2].map((writeId) => ({ type: 'answer', writeId, answer: { ok: true, outcomes: ['inserted'] } })));
    expect(only(replica.step({ ...write, writeId: 3 }, 2006), 'answer')).toMatchObject([{ writeId: 3, answer: { ok: true } }]);
    const next = { ...write, source: { session: 's', requestNumber: 3, settledBelow: 3 } };
    replica.step({ ...next, writeId: 4 }, 2007);
    const late = replica.step({ ...write, source: { session: 's', requestNumber: 2, settledBelow: 1 }, writeId: 5 }, 2008);
    expect(only(late, 'answer')).toMatchObject([{ writeId: 5, answer: { ok: false, kind: 'unavailable' } }]);
  });

  test('hands over to a follower that has everything, which then need not wait for leases', () => {
    const { replica } = servingPrimary();
    const effects = replica.step({ type: 'handover', to: 'B' }, 2010);
    expect(only(effects, 'change')).toMatchObject([{ expectedRevision: 5, requires: [B], assignment: { epoch: 2, primary: B } }]);
    expect(replica.mayWrite(2010)).toBe('wait');
    expect(replica.leaseValid(1, 2010)).toBe(false);
    const release = only(effects, 'sendAppend').find(({ to }) => to === 'B')!.message;
    expect(release.releasesLease).toBe(true);

    const successor = replicaOf(B, { promisedEpoch: 1, lastSequence: 1, epochStarts: [{ epoch: 1, sequence: 1 }] });
    successor.step({ type: 'append', message: { ...release, entries: [] } }, 500);
    successor.step({ type: 'assignment', assignment: assignment({ epoch: 2, primary: B }), revision: 6 }, 501);
    expect(only(successor.step({ type: 'stored', token: 1 }, 502), 'append')).toMatchObject([{ entries: [{ epoch: 2, sequence: 2, write: null }] }]);
  });

  test('goes on requiring a member whose joining was refused, until the revision has moved on', () => {
    const { replica } = servingPrimary();
    const learner = { type: 'appendAck' as const, ack: { epoch: 1, replica: C, sentAt: 2010, result: { type: 'match' as const, match: 1, agreed: 1 } } };
    const [change] = only(replica.step(learner, 2010), 'change');
    expect(change).toMatchObject({ requires: [C], assignment: { inSync: [A, B, C] } });
    replica.step({ type: 'changeAnswer', changeId: change.assignment.changeId, applied: false, current: assignment(), revision: 5 }, 2011);
    replica.step({ type: 'write', writeId: 1, source: { session: 's', requestNumber: 1, settledBelow: 1 }, payload: Buffer.from('p') }, 2400);
    replica.step({ type: 'stored', token: 3 }, 2401);
    acknowledge(replica, 2, 2402);
    expect(replica.committed).toBe(1);
    replica.step({ type: 'assignment', assignment: assignment({ changeId: 'other' }), revision: 6 }, 2900);
    expect(replica.committed).toBe(2);
  });
});

describe('a log index', () => {
  test('finds the last entry that may be common with a log of other epochs', () => {
    const log = new LogIndex({ firstSequence: 4, lastSequence: 10, precedingEpoch: 1, epochStarts: [{ epoch: 1, sequence: 1 }, { epoch: 3, sequence: 6 }, { epoch: 5, sequence: 9 }] });
    expect(log.latestAt(20, 9)).toEqual({ epoch: 5, sequence: 10 });
    expect(log.latestAt(9, 4)).toEqual({ epoch: 3, sequence: 8 });
    expect(log.latestAt(7, 2)).toEqual({ epoch: 1, sequence: 5 });
    expect(log.latestAt(2, 1)).toEqual({ epoch: 1, sequence: 3 });
  });
});

describe('a promotion', () => {
  const members = (...replicas: { node: string; store: string }[]): Map<string, { store: string }> => new Map(replicas.map(({ node, store }) => [node, { store }]));

  test('takes the in-sync member with the longest log, and keeps who left as eligible below the minimum', () => {
    const living = new Map([B, C].map(({ node, store }) => [node, { store, last: { epoch: 1, sequence: node === 'C' ? 9 : 8 } }]));
    expect(decidePromotion(assignment({ inSync: [A, B, C] }), living)?.assignment).toMatchObject({ epoch: 2, primary: C, inSync: [B, C], eligible: [] });
    expect(decidePromotion(assignment({ inSync: [A, B, C] }), members(B))?.assignment).toMatchObject({ primary: B, inSync: [B], eligible: [A, C] });
  });

  test('takes an eligible replica when no in-sync one lives, and nobody else', () => {
    expect(decidePromotion(assignment({ inSync: [A], eligible: [B] }), members(B, C))).toMatchObject({ from: 'eligible', assignment: { primary: B, inSync: [B], eligible: [A] } });
    expect(decidePromotion(assignment({ inSync: [A] }), members(B, C))).toBeNull();
    expect(decidePromotion(assignment({ inSync: [A, B] }), members({ node: 'B', store: 'other' }))).toBeNull();
    expect(decidePromotion(assignment(), members(A))).toBeNull();
  });
});
