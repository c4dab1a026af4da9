import { decideRepair, type RepairPicture } from '../../../../../coordinator/cluster/controller/decide-repair';
import type { KnownAssignment, ShardAssignment } from '../../../../../shared/cluster-store/entries/shard-assignment';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';

/**
 * After the cluster store was put back: what the nodes say of a shard, and whether that makes clear what was in force.
 */

function assignment(
  epoch: number,
  revision: number,
  inSync: string[],
  more: Partial<ShardAssignment> = {},
): KnownAssignment {
  return { assignment: assignmentOf({ epoch, inSync: inSync.map(replicaOn), ...more }), revision };
}

/** The map says that x and y held the shard in epoch 3; a leads it in epoch 7, with b in sync. */
function picture(change: Partial<RepairPicture> = {}): RepairPicture {
  const latest = assignment(7, 50, ['a', 'b']);
  return {
    found: assignment(3, 20, ['x', 'y']),
    known: new Map([
      ['a', latest],
      ['b', latest],
    ]),
    stores: new Map(['a', 'b', 'x', 'y'].map((node) => [node, `${node}.0`])),
    reports: new Map([
      ['a', { role: 'primary', epoch: 7 }],
      ['b', { role: 'follower', epoch: 7 }],
      ['x', { role: 'follower', epoch: 3 }],
    ]),
    ...change,
  };
}

const without = <Value>(map: ReadonlyMap<string, Value>, node: string): Map<string, Value> =>
  new Map([...map].filter(([id]) => id !== node));
const withReport = (
  node: string,
  report: { role: 'primary' | 'follower'; epoch: number } | null,
): Partial<RepairPicture> => ({ reports: new Map(picture().reports).set(node, report) });

test('what the primary of the latest epoch and all in sync with it confirm comes into force again, under a new epoch', () => {
  expect(decideRepair(picture())).toEqual({ assignment: { ...assignment(7, 50, ['a', 'b']).assignment, epoch: 8 } });
});

test('the new epoch is above all that anybody promised', () => {
  const repair = decideRepair(
    picture({
      found: assignment(9, 20, ['a', 'b']),
      known: new Map([['a', assignment(9, 50, ['a'])]]),
      ...withReport('y', { role: 'follower', epoch: 11 }),
    }),
  );
  expect(repair).toMatchObject({ assignment: { epoch: 12 } });
});

test('of what is known of one epoch, the latest counts: the in-sync set may have changed', () => {
  const known = new Map([
    ['a', assignment(7, 55, ['a'], { replicas: ['a', 'b'] })],
    ['b', assignment(7, 50, ['a', 'b'])],
  ]);
  expect(decideRepair(picture({ known }))).toMatchObject({
    assignment: { epoch: 8, inSync: [replicaOn('a')], replicas: ['a', 'b'] },
  });
});

test.each<[string, Partial<RepairPicture>, string]>([
  [
    'its primary does not confirm it',
    { known: without(picture().known, 'a') },
    'node a, which led epoch 7, does not confirm it',
  ],
  [
    'its primary knows something earlier',
    { known: new Map(picture().known).set('a', assignment(6, 40, ['a'])) },
    'node a, which led epoch 7, does not confirm it',
  ],
  ['one in sync is away', { stores: without(picture().stores, 'b') }, 'node b is away'],
  [
    'one in sync has lost its data',
    { stores: new Map(picture().stores).set('b', 'b.1') },
    'the data of node b are lost',
  ],
  [
    'one in sync does not answer',
    { reports: without(picture().reports, 'b') },
    'node b does not answer for its replica',
  ],
  ['one in sync holds nothing', withReport('b', null), 'node b does not answer for its replica'],
  [
    'one in sync took part in a later epoch',
    withReport('b', { role: 'follower', epoch: 8 }),
    'node b took part in epoch 8, of which nobody knows the assignment',
  ],
  [
    'one leads by the earlier map',
    withReport('x', { role: 'primary', epoch: 4 }),
    'node x leads the shard by the earlier map',
  ],
  [
    'the primary by the earlier map does not answer',
    { reports: without(picture().reports, 'x') },
    'node x, which leads by the earlier map, does not say whether it does',
  ],
  [
    'nobody led it',
    { known: new Map([['a', assignment(7, 50, ['a'], { primary: null })]]) },
    'nobody led epoch 7, the latest that is known',
  ],
])('it is not clear when %s', (_when, change, unclear) => {
  expect(decideRepair(picture(change))).toEqual({ unclear });
});

test('a primary by the earlier map that is not there, or holds nothing, does not lead', () => {
  expect(decideRepair(picture(withReport('x', null)))).toHaveProperty('assignment');
  expect(
    decideRepair(picture({ stores: without(picture().stores, 'x'), reports: without(picture().reports, 'x') })),
  ).toHaveProperty('assignment');
});
