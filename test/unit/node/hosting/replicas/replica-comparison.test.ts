import type { HostedReplica } from '../../../../../node/hosting/replicas/hosted-replica';
import {
  type ComparisonOutcome,
  ReplicaComparison,
  type ReplicaComparisonParts,
} from '../../../../../node/hosting/replicas/replica-comparison';
import type { ReplicaDigest } from '../../../../../shared/cluster-store/entries/node-report';
import type { ShardAssignment } from '../../../../../shared/cluster-store/entries/shard-assignment';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { assignmentOf } from '../../../../support/cluster/assignment';

/** What a primary does around a comparison, by a clock of the test's own and with answers that are given to it. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'ip' } as const;
const INTERVAL_MS = 1_000;
const replicaOn = (node: string) => ({ node, store: `store of ${node}` });
const digestWith = (content: string): ReplicaDigest => ({
  appliedSequence: 7,
  items: 1,
  content,
  order: '',
  sessions: '',
});

class PrimaryStandIn {
  readonly calls: string[] = [];
  readonly outcomes: ComparisonOutcome[] = [];
  role = 'primary';
  isOpen = true;
  assignment: ShardAssignment = assignmentOf({ spec: SPEC, epoch: 3, inSync: ['a', 'b', 'c'].map(replicaOn) });
  /** Of this replica. */
  digest: (stop: AbortSignal) => Promise<ReplicaDigest | null> = async () => digestWith('right');
  readonly hosted: HostedReplica;
  readonly comparison: ReplicaComparison;

  constructor(ask: Partial<ReplicaComparisonParts['ask']>, intervalMs = INTERVAL_MS) {
    const hosted = {
      spec: SPEC,
      digestAt: (_sequence: number, { stop }: { stop: AbortSignal }) => this.digest(stop),
      replica: {
        status: () => ({ phase: 'serving', role: this.role, epoch: this.assignment.epoch, lastSequence: 7 }),
        handOver: (to: string) => this.calls.push(`hand over to ${to}`),
        cancelHandover: () => this.calls.push('cancel'),
      },
    };
    Object.defineProperty(hosted.replica, 'assignment', { get: () => this.assignment });
    this.hosted = hosted as unknown as HostedReplica;
    this.comparison = new ReplicaComparison({
      nodeId: 'a',
      intervalMs,
      open: () => (this.isOpen ? [this.hosted] : []),
      ask: { digestAt: async () => digestWith('right'), replace: async () => true, ...ask },
      log: silentLogger,
      onCompared: (outcome) => this.outcomes.push(outcome),
    });
  }
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('a successor that does not take the lead in time is waited for no longer, so that writes go on', async () => {
  const primary = new PrimaryStandIn({ digestAt: async () => digestWith('other') });
  await jest.advanceTimersByTimeAsync(2 * INTERVAL_MS);
  expect(primary.calls).toEqual(['hand over to b']);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(primary.calls.slice(0, 2)).toEqual(['hand over to b', 'cancel']);
  expect(primary.outcomes).toEqual(['different']);
  primary.role = 'follower';
  await jest.advanceTimersByTimeAsync(100);
  await primary.comparison.close();
});

test('the list of open replicas is asked for once a look, however many replicas are not due', async () => {
  const replicas = Array.from({ length: 50 }, (_, shard) => ({ spec: { ...SPEC, shard } }) as unknown as HostedReplica);
  const random = jest.spyOn(Math, 'random').mockReturnValue(0.9);
  let asked = 0;
  const open = (): HostedReplica[] => {
    asked += 1;
    return replicas;
  };
  const ask = { digestAt: async () => null, replace: async () => true };
  const comparison = new ReplicaComparison({
    nodeId: 'a',
    intervalMs: INTERVAL_MS,
    open,
    ask,
    log: silentLogger,
    onCompared: () => undefined,
  });
  await jest.advanceTimersByTimeAsync(INTERVAL_MS / 2);
  expect(asked).toBe(2);
  random.mockRestore();
  await comparison.close();
});

test('one that takes the lead ends the handover', async () => {
  const primary = new PrimaryStandIn({ digestAt: async () => digestWith('other') });
  await jest.advanceTimersByTimeAsync(2 * INTERVAL_MS);
  primary.role = 'follower';
  await jest.advanceTimersByTimeAsync(100);
  expect(primary.calls).toEqual(['hand over to b', 'cancel']);
  await primary.comparison.close();
});

test('of a shard there is one digest at a time: the last that was asked for', async () => {
  const replica = new PrimaryStandIn({}, 0);
  const stops: AbortSignal[] = [];
  replica.digest = (stop) =>
    new Promise((done) => stops.push(stop) && stop.addEventListener('abort', () => done(null)));
  const asker = new AbortController();
  const first = replica.comparison.digestAt(replica.hosted, 7, asker.signal);
  const second = replica.comparison.digestAt(replica.hosted, 8, asker.signal);
  expect(await first).toBeNull();
  expect(stops.map(({ aborted }) => aborted)).toEqual([true, false]);
  asker.abort();
  expect(await second).toBeNull();
});

test.each([
  ['failed', 'storage_damaged'],
  ['skipped', 'unavailable'],
] as const)('a comparison counts as %s when the own replica answers %s', async (outcome, kind) => {
  const primary = new PrimaryStandIn({});
  primary.digest = async () => {
    throw new QuiverError(kind, '');
  };
  await jest.advanceTimersByTimeAsync(2 * INTERVAL_MS);
  expect(primary.outcomes[0]).toBe(outcome);
  await primary.comparison.close();
});

test.each<[string, (primary: PrimaryStandIn) => void]>([
  [
    'is not in sync any more',
    (primary) => (primary.assignment = { ...primary.assignment, inSync: ['a', 'c'].map(replicaOn) }),
  ],
  ['follows in another epoch', (primary) => (primary.assignment = { ...primary.assignment, epoch: 4 })],
  ['has a primary that is closed', (primary) => (primary.isOpen = false)],
])('a node that stays silent is not waited for once it %s', async (_what, change) => {
  const primary = new PrimaryStandIn({ digestAt: () => new Promise(() => undefined) });
  await jest.advanceTimersByTimeAsync(10 * INTERVAL_MS);
  expect(primary.outcomes).toEqual([]);
  change(primary);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(primary.outcomes).toEqual(['skipped']);
  await primary.comparison.close();
});

test('a shard whose comparison was skipped is compared again after some minutes', async () => {
  const dayMs = 24 * 3_600_000;
  let isThere = false;
  const primary = new PrimaryStandIn({ digestAt: async () => (isThere ? digestWith('right') : null) }, dayMs);
  while (primary.outcomes.length === 0) await jest.advanceTimersByTimeAsync(60_000);
  isThere = true;
  await jest.advanceTimersByTimeAsync(6 * 60_000);
  expect(primary.outcomes).toEqual(['skipped', 'same']);
  await jest.advanceTimersByTimeAsync(dayMs / 2);
  expect(primary.outcomes).toHaveLength(2);
  await primary.comparison.close();
});

test('a stop waits neither for a disk that hangs nor for a node that stays silent', async () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const hanging = new PrimaryStandIn({});
  hanging.digest = never;
  const silent = new PrimaryStandIn({
    digestAt: async (node) => digestWith(node === 'b' ? 'other' : 'right'),
    replace: never,
  });
  await jest.advanceTimersByTimeAsync(2 * INTERVAL_MS);
  await Promise.all([hanging.comparison.close(), silent.comparison.close()]);
  expect([hanging.outcomes, silent.outcomes]).toEqual([[], []]);
});
