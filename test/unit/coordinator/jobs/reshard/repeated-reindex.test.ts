import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { RESHARDS_PREFIX } from '../../../../../coordinator/service/collections/reshard-record';
import type { RunningService } from '../../../../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { eventually } from '../../../../support/eventually';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { newCollection, plainService } from '../../../../support/shards/plain-service';

/** Clients repeat a PATCH by themselves when its answer is lost: coordinator/jobs/reshard/reshard-requests.ts. */

const TITLE = [{ path: 'title', weight: 3 }];
const BODY = [{ path: 'body', weight: 1 }];

let service: RunningService;
let under: ClusterStore;
/** Called before each transaction. */
let beforeStore: () => Promise<void>;
let isAway: boolean;
/** Whether the store is away once a reindex is stored. */
let leavesAfterBeginning: boolean;

beforeEach(async () => {
  under = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  beforeStore = async () => undefined;
  isAway = false;
  leavesAfterBeginning = false;
  const store: ClusterStore = {
    get: async (key) => {
      if (isAway) throw new QuiverError('unavailable', 'the store is away');
      return under.get(key);
    },
    list: (prefix) => under.list(prefix),
    watch: (prefix, after, listener) => under.watch(prefix, after, listener),
    transact: async (guards, changes) => {
      await beforeStore();
      const result = await under.transact(guards, changes);
      isAway = leavesAfterBeginning && changes.some(({ key }) => key.startsWith(RESHARDS_PREFIX));
      return result;
    },
    close: async () => undefined,
  };
  ({ service } = await plainService({ store }));
  await service.collections.create(newCollection('c', { shards: 2 }));
});
afterEach(() => under.close());

const patch = (change: object) => service.collections.update('c', change);
const reshards = async (): Promise<number> => (await under.list(RESHARDS_PREFIX)).entries.length;

test('a PATCH that is repeated while its job is under way answers that job, and what else it changes is changed', async () => {
  const { job } = await patch({ keywordFields: TITLE, ttlSeconds: 5 });
  expect(job).toMatch(/^reindex-/);
  expect(await patch({ keywordFields: TITLE, ttlSeconds: 6 })).toMatchObject({ job, ttlSeconds: 6 });
  expect(await service.collections.get('c')).toMatchObject({ ttlSeconds: 6 });
  expect(await reshards()).toBe(1);
});

test('so does one that comes while the first is being stored', async () => {
  let first: Promise<{ job?: string }> | undefined;
  beforeStore = async () => {
    beforeStore = async () => undefined;
    first = patch({ keywordFields: TITLE });
    await first;
  };
  const { job } = await patch({ keywordFields: TITLE, description: 'mine' });
  expect(job).toBe((await first!).job);
  expect((await service.collections.get('c')).description).toBe('mine');
});

test('and once the job is done, nothing begins again', async () => {
  const { job } = await patch({ keywordFields: TITLE });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  await eventually('it is done', async () => (await service.jobs.get(job!)).state === 'done');
  const again = await patch({ keywordFields: TITLE, description: 'mine' });
  expect(again).toMatchObject({ description: 'mine' });
  expect(again.job).toBeUndefined();
  await resharder.close();
});

test('other fields are refused while a job is under way, also the present ones, and so are the same of one that is given up', async () => {
  const { job } = await patch({ keywordFields: TITLE });
  for (const keywordFields of [BODY, null])
    await expect(patch({ keywordFields })).rejects.toMatchObject({
      kind: 'already_exists',
      message: expect.stringContaining(job!),
    });
  await service.collections.cancelReshard('c');
  await expect(patch({ keywordFields: TITLE })).rejects.toMatchObject({ kind: 'already_exists' });
});

test('the present fields are no obstacle to what else is changed while the number of shards changes', async () => {
  await service.collections.reshard('c', 3);
  const answer = await patch({ keywordFields: null, description: 'mine' });
  expect(answer).toMatchObject({ description: 'mine' });
  expect(answer.job).toBeUndefined();
  await expect(patch({ keywordFields: TITLE })).rejects.toMatchObject({ kind: 'already_exists' });
});

test('a PATCH is answered with its job though the store is away as soon as that has begun', async () => {
  leavesAfterBeginning = true;
  const answer = await patch({ keywordFields: TITLE, description: 'mine' });
  expect(answer).toMatchObject({ job: expect.stringMatching(/^reindex-/), description: 'mine' });
});
