import { decidePromotion } from '../../../../../coordinator/cluster/placement/promotion';
import type { ShardAssignment } from '../../../../../shared/cluster-store/entries/shard-assignment';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';

const [A, B, C, D] = ['A', 'B', 'C', 'D'].map(replicaOn);

function assignment(change: Partial<ShardAssignment> = {}): ShardAssignment {
  return assignmentOf({ minInSync: 2, primary: A, inSync: [A, B], replicas: ['A', 'B', 'C'], ...change });
}

describe('a promotion', () => {
  const members = (...replicas: { node: string; store: string }[]): Map<string, { store: string }> =>
    new Map(replicas.map(({ node, store }) => [node, { store }]));

  test('takes the in-sync member with the longest log, and keeps who left as eligible below the minimum', () => {
    const living = new Map(
      [B, C].map(({ node, store }) => [node, { store, last: { epoch: 1, sequence: node === 'C' ? 9 : 8 } }]),
    );
    expect(decidePromotion(assignment({ inSync: [A, B, C] }), living)?.assignment).toMatchObject({
      epoch: 2,
      primary: C,
      inSync: [B, C],
      eligible: [],
    });
    expect(decidePromotion(assignment({ inSync: [A, B, C] }), members(B))?.assignment).toMatchObject({
      primary: B,
      inSync: [B],
      eligible: [A, C],
    });
  });

  test('takes an eligible replica when no in-sync one lives, and nobody else', () => {
    expect(decidePromotion(assignment({ inSync: [A], eligible: [B] }), members(B, C))).toMatchObject({
      from: 'eligible',
      assignment: { primary: B, inSync: [B], eligible: [A] },
    });
    expect(decidePromotion(assignment({ inSync: [A] }), members(B, C))).toBeNull();
    expect(decidePromotion(assignment({ inSync: [A, B] }), members({ node: 'B', store: 'other' }))).toBeNull();
    expect(decidePromotion(assignment(), members(A))).toBeNull();
  });

  test('of an eligible replica outside the shard takes it into the shard again', () => {
    // Earlier versions left the lost target of a move eligible, and took it out of the shard.
    const given = assignment({ inSync: [A], eligible: [D] });
    expect(decidePromotion(given, members(B, C, D))?.assignment).toMatchObject({
      primary: D,
      inSync: [D],
      eligible: [A],
      replicas: ['A', 'B', 'C', 'D'],
    });
  });
});
