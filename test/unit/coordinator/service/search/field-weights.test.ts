import { hybridSearchBody } from '../../../../../coordinator/api/schema/search-schemas';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { readConfig } from '../../../../../shared/base/config/config';
import { eventually } from '../../../../support/eventually';
import { item, newCollection, plainService } from '../../../../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../../../../support/shards/shard-node';

/** Weights of keyword fields at a coordinator that has not heard of a change of the fields. */

const node = new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore });

beforeAll(() => node.start());
afterAll(() => node.destroy());

test('weights of fields that memory does not know are judged by the store', async () => {
  const changer = await plainService({ shardClient: node.client });
  const { store } = changer;
  let isLate = false;
  const late: ClusterStore = {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: (guards, changes) => store.transact(guards, changes),
    watch: (prefix, after, listener) => store.watch(prefix, after, (events) => !isLate && listener(events)),
    close: async () => undefined,
  };
  const { service } = await plainService({ shardClient: node.client, store: late, instanceId: 'late' });
  const body = hybridSearchBody(readConfig({}, 1));
  const found = async (more: object): Promise<string[]> => {
    const given = { query_text: 'river', vector: [1, 2], mode: 'keyword', ...more };
    return (await service.search.search('c', body.parse(given).search)).hits.map(({ externalId }) => externalId);
  };
  await changer.service.collections.create(newCollection('c', {}));
  await changer.service.vectors.upsert('c', [item('a', [1, 2], { metadata: { title: 'river' }, text: 'words' })]);
  expect(await found({})).toEqual(['a']);

  isLate = true;
  const { job } = await changer.service.collections.update('c', { keywordFields: [{ path: 'title', weight: 3 }] });
  // The shards that it knows stay, so that nothing but the weights tells it.
  const resharder = await changer.service.driveReshards(ONLY_DRIVER, 1e9);
  await eventually('they hold', async () => (await changer.service.jobs.get(job!)).state === 'done');
  expect(await found({ field_weights: { title: 2 } })).toEqual(['a']);
  await expect(found({ field_weights: { body: 2 } })).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('are title'),
  });
  await resharder.close();
});
