import { EtcdClusterStore } from '../../shared/cluster-store/etcd/etcd-cluster-store';
import { SealedClusterStore } from '../../shared/cluster-store/sealed-cluster-store';
import { silentLogger } from '../../shared/base/logs/logger';
import { EntrySeal } from '../../shared/base/secret/entry-seal';
import { EtcdCluster, EtcdProcess } from '../support/processes/etcd-process';
import { clusterStoreContract } from './cluster-store.contract';

/** What the stores promise is looked at here, not how quick a machine's disk is that other tests write to. */
const PATIENCE_MS = 30_000;

let single: EtcdProcess;
let cluster: EtcdCluster;

beforeAll(async () => {
  [single, cluster] = await Promise.all([EtcdProcess.start(), EtcdCluster.start()]);
});

afterAll(async () => {
  await Promise.all([single.destroy(), cluster.destroy()]);
});

clusterStoreContract('over etcd', async () => placeOver([single.endpoint]));
clusterStoreContract('over an etcd of three members', async () => placeOver(cluster.endpoints));
clusterStoreContract('with sealed entries, over etcd', async () => ({
  ...placeOver([single.endpoint]),
  open: async () => {
    const store = new EtcdClusterStore({ endpoints: [single.endpoint], callTimeoutMs: PATIENCE_MS });
    return new SealedClusterStore({
      store,
      seal: new EntrySeal({ secret: 'a secret of the cluster' }),
      rule: 'required',
      log: silentLogger,
      onRefused: () => undefined,
    });
  },
}));

function placeOver(endpoints: string[]) {
  return {
    refusesEmptyKey: true as const,
    open: async () => new EtcdClusterStore({ endpoints, callTimeoutMs: PATIENCE_MS }),
    remove: async () => {
      const store = new EtcdClusterStore({ endpoints, callTimeoutMs: PATIENCE_MS });
      const { entries } = await store.list('');
      await store.transact(
        [],
        entries.map(({ key }) => ({ type: 'delete', key })),
      );
      await store.close();
    },
  };
}
