import { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { TombstoneSweep } from '../../../../../coordinator/cluster/controller/tombstone-sweep';
import { dropPath, dropToValue } from '../../../../../coordinator/service/collections/collection-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { CONTROLLER_PATH } from '../../../../../shared/cluster-store/entries/members';
import { tombstonePath, TOMBSTONES_PREFIX } from '../../../../../shared/cluster-store/entries/tombstones';
import type { Guard } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';

const DAY_MS = 24 * 3_600_000;

test('the controller removes tombstones after a week, except those of collections that are still being dropped', async () => {
  const clock = new ManualClock();
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const drop = (uid: string): Promise<unknown> =>
    store.transact([], [{ type: 'put', key: tombstonePath(uid), value: new Date(clock.wallMs()).toISOString() }]);
  // More than one transaction holds.
  for (let i = 0; i < 130; i += 1) await drop(`old-${i}`);
  await drop('dropping');
  await store.transact(
    [],
    [
      {
        type: 'put',
        key: dropPath('dropping'),
        value: dropToValue({ uid: 'dropping', name: 'd', shards: 1, replicas: 1 }),
      },
    ],
  );
  clock.advance(DAY_MS);
  await drop('young');
  clock.advance(6 * DAY_MS + 1);
  const map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
  const leadership: { guard: Guard | null } = { guard: null };
  const sweep = new TombstoneSweep({ store, map, leadership, clock, log: silentLogger });
  try {
    expect(await sweep.sweep()).toBe(0);
    leadership.guard = { key: CONTROLLER_PATH, revision: 7 };
    expect(await sweep.sweep()).toBe(0);
    leadership.guard = { key: CONTROLLER_PATH, revision: 0 };
    expect(await sweep.sweep()).toBe(130);
    expect((await store.list(TOMBSTONES_PREFIX)).entries.map(({ key }) => key)).toEqual(
      ['dropping', 'young'].map(tombstonePath),
    );
  } finally {
    sweep.close();
    map.close();
    await store.close();
  }
});
