import { BackupJobs } from '../../../../../coordinator/jobs/backup/backup-jobs';
import { BACKUPS_PATH, backupPath, RESTORES_PATH } from '../../../../../coordinator/jobs/backup/backup-record';
import { ReshardJobs } from '../../../../../coordinator/jobs/reshard/reshard-jobs';
import { RESHARDS_PREFIX } from '../../../../../coordinator/service/collections/reshard-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { systemClock } from '../../../../../shared/base/time/clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** Jobs that are made of the records of backups, restores and reshards. */

test('a damaged record is left out, and hides no other', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const record = {
    id: 'b1',
    target: 'file:///backups',
    state: 'running',
    collections: null,
    progress: [],
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
    error: null,
  };
  const restore = { ...record, id: 'restore-1', backup: 'b1', collections: [{ record: '{', shardsReady: 0 }] };
  const put = (key: string, value: string) => ({ type: 'put', key, value }) as const;
  await store.transact(
    [],
    [
      put(`${BACKUPS_PATH}b0`, '{"id":'),
      put(backupPath('b1'), JSON.stringify(record)),
      put(`${RESTORES_PATH}restore-0`, 'null'),
      put(`${RESTORES_PATH}restore-1`, JSON.stringify(restore)),
      put(`${RESHARDS_PREFIX}c`, '{}'),
    ],
  );
  const parts = { store, clock: systemClock };
  const backups = new BackupJobs({ ...parts, requests: {} as never });
  const reshards = new ReshardJobs({ ...parts, requests: {} as never, reembeds: {} as never });
  expect(await backups.list()).toMatchObject([{ id: 'backup-b1', kind: 'backup', state: 'running' }]);
  expect(await reshards.list()).toEqual([]);
  await store.close();
});
