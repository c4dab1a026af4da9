import { TEST_SEALS } from '../../../../support/cluster/test-seals';
import { LogShipping } from '../../../../../node/replication/shipping/log-shipping';
import type { LogView, ShippableLog } from '../../../../../node/engine/shard/backup/shippable-log';
import type { BackupTarget } from '../../../../../shared/backup-store/backup-target';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';
import { Pace } from '../../../../../shared/base/time/pace';
import { LogMemory } from '../../../../support/shards/shard-node';

test.each([
  ['by the clock', 0],
  ['ahead of it, by an hour', 3_600_000],
])('how far logs are behind in the target is told while it fails, where their times are %s', async (_, aheadMs) => {
  const clock = new ManualClock();
  const objects = new Map<string, Buffer>();
  let isAway = false;
  const target: BackupTarget = {
    name: 'memory',
    seals: TEST_SEALS,
    put: async (key, bytes) => {
      if (isAway) throw new QuiverError('unavailable', 'the target is away');
      objects.set(key, bytes);
    },
    create: async () => true,
    get: async (key) => objects.get(key) ?? null,
    list: async () => [],
    delete: async () => undefined,
  };
  const entries: number[] = [];
  let leads = true;
  const log: ShippableLog = {
    id: { collectionUid: 'c', shard: 0 },
    view: (): LogView | null => (leads ? { term: 1, first: 1, committed: entries.length, last: entries.length } : null),
    epochOf: (sequence) => (sequence <= entries.length ? 1 : null),
    entries: async (from) =>
      entries
        .slice(from - 1)
        .map((at, i) => ({ sequence: from + i, epoch: 1, at, write: { source: null, payload: Buffer.from('w') } })),
    shipped: () => undefined,
  };
  const shipping = new LogShipping({
    member: 'm',
    logs: () => [log],
    target,
    pace: new Pace(Infinity),
    clock,
    everyMs: 1000,
    log: new LogMemory() as unknown as Logger,
  });
  const write = (): number => entries.push(clock.wallMs() + aheadMs);
  write();
  await shipping.round();
  expect(shipping.state().behindSeconds).toBeLessThanOrEqual(0.001);
  isAway = true;
  write();
  clock.advance(400_000);
  await shipping.round();
  expect(shipping.state().behindSeconds).toBeGreaterThanOrEqual(400);
  isAway = false;
  await shipping.round();
  expect(shipping.state().behindSeconds).toBeLessThanOrEqual(0.001);
  // Another member leads for a while: what that shipped is not behind here.
  leads = false;
  await shipping.round();
  clock.advance(400_000);
  leads = true;
  expect(shipping.state().behindSeconds).toBe(0);
  await shipping.close();
});
