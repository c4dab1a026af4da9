import { Membership } from '../../../../../node/replication/core/membership';
import { TIMINGS } from '../../../../../node/replication/core/timings';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';

const [A, B] = ['A', 'B'].map(replicaOn);
const assignment = assignmentOf({ inSync: [A], replicas: ['A', 'B'] });
const HOUR_MS = 3_600_000;

/** A primary that wants B in sync, while the cluster store refuses it at once: B has lost its session. */
function refusedForAnHour(): { membership: Membership; askedAtMs: number[] } {
  const askedAtMs: number[] = [];
  let nowMs = 0;
  const membership = new Membership({ changeIdPrefix: 'a', emit: () => void askedAtMs.push(nowMs) });
  membership.adopt(assignment, 1);
  // As often as a primary looks.
  for (; nowMs < HOUR_MS; nowMs += 100) {
    if (membership.wasJustRefused('expand', nowMs)) continue;
    membership.propose({ kind: 'expand', assignment: { ...assignment, inSync: [A, B] }, requires: [B] }, nowMs);
    membership.answered(membership.pending!.assignment.changeId, 1, nowMs);
  }
  return { membership, askedAtMs };
}

describe('a change that is refused again and again', () => {
  test('is requested after growing pauses, until the assignment is another', () => {
    const { membership, askedAtMs } = refusedForAnHour();
    expect(askedAtMs.slice(0, 6)).toEqual([0, 400, 1200, 2800, 4400, 6000]);
    expect(membership.wasJustRefused('expand', HOUR_MS)).toBe(true);
    expect(membership.wasJustRefused('shrink', HOUR_MS)).toBe(false);
    membership.adopt(assignment, 2);
    expect(membership.wasJustRefused('expand', HOUR_MS)).toBe(false);
  });

  test('leaves one member to be reckoned with, however often', () => {
    const { membership } = refusedForAnHour();
    expect(membership.leftovers()).toEqual([B]);
    expect(membership.maximal()).toEqual([A, B]);
  });
});

describe('while the cluster store is behind what is known', () => {
  test('every kind of change waits equally long each time, and a wake-up is asked for only until then', () => {
    const membership = new Membership({ changeIdPrefix: 'a', emit: () => undefined });
    membership.adopt(assignment, 9);
    for (let nowMs = 0, times = 0; times < 3; times += 1) {
      expect([membership.wasJustRefused('expand', nowMs), membership.nextTickAt()]).toEqual([false, Infinity]);
      membership.propose({ kind: 'expand', assignment: { ...assignment, inSync: [A, B] }, requires: [B] }, nowMs);
      membership.answered(membership.pending!.assignment.changeId, 3, nowMs);
      const againMs = nowMs + TIMINGS.behindRetryMs;
      expect([membership.wasJustRefused('shrink', againMs - 1), membership.nextTickAt()]).toEqual([true, againMs]);
      nowMs = againMs;
      membership.tick(nowMs);
    }
    // The next refusal for another reason begins with the shortest pause.
    membership.propose({ kind: 'expand', assignment: { ...assignment, inSync: [A, B] }, requires: [B] }, HOUR_MS);
    membership.answered(membership.pending!.assignment.changeId, 9, HOUR_MS);
    expect(
      [TIMINGS.changeRetryMs - 1, TIMINGS.changeRetryMs].map((ms) => membership.wasJustRefused('expand', HOUR_MS + ms)),
    ).toEqual([true, false]);
  });
});
