import { type OpenUpload, UploadJournal } from '../../../../../coordinator/service/documents/upload-journal';
import { UploadRecovery } from '../../../../../coordinator/service/documents/upload-recovery';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';

const upload: OpenUpload = { documentId: 'd', collection: 'c', owner: 'one', chunksEnd: 3, takenBackAtMs: null };

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance', 'Date'] }),
);
afterEach(() => jest.useRealTimers());

test('whose upload it was is told once that it is not complete, as soon as that is known, however often it is tried', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  let deletions = 0;
  const remove = async (): Promise<never> => {
    deletions += 1;
    throw new QuiverError('unavailable', 'the shard has no primary');
  };
  const recovery = new UploadRecovery({
    journal: new UploadJournal(store),
    vectors: { delete: remove },
    clock: systemClock,
    log: silentLogger,
    instanceId: 'one',
  });
  const onIncomplete = jest.fn();
  let isAway = true;
  const isComplete = async (): Promise<boolean> => {
    if (isAway) throw new QuiverError('unavailable', 'the cluster store can not be reached');
    return false;
  };
  expect(await recovery.takeBackOwn(upload, { isComplete, onIncomplete })).toBe(false);
  expect(onIncomplete).not.toHaveBeenCalled();
  isAway = false;
  for (let tried = 1; tried <= 3; tried++) {
    await jest.advanceTimersByTimeAsync(15_000);
    expect(deletions).toBe(tried);
    expect(onIncomplete).toHaveBeenCalledTimes(1);
  }
  recovery.close();
});

test('uploads into a collection that is away hold up no other', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const journal = new UploadJournal(store);
  for (let i = 0; i < 20; i++)
    await journal.put({ ...upload, documentId: `away-${i}`, collection: 'away', owner: 'dead' });
  await journal.put({ ...upload, documentId: 'here', collection: 'here', owner: 'dead' });
  const remove = (collection: string): Promise<{ deleted: string[]; notFound: string[] }> =>
    collection === 'away' ? new Promise(() => undefined) : Promise.resolve({ deleted: [], notFound: [] });
  const recovery = new UploadRecovery({
    journal,
    vectors: { delete: remove },
    clock: systemClock,
    log: silentLogger,
    instanceId: 'one',
  });
  void recovery.recover({ isAlive: () => false, writesMs: 0 });
  await jest.advanceTimersByTimeAsync(2_000);
  expect((await journal.list()).filter(({ upload: { collection } }) => collection === 'here')).toEqual([]);
  recovery.close();
});
