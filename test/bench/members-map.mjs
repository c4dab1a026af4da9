// What the processes of members-bench.mjs have in common: names, secret, and who holds which shard.
export const HOST = '127.0.0.1';
export const SECRET = 'members-bench-secret-0123456789';
const REPLICAS = 3;

export function nodeName(number) {
  return `node-${number}`;
}

/** The node that is measured is the first. */
export const MEASURED = nodeName(0);

/** The cluster store as members have it. `load` requires a module of the version that is measured. */
export function sealedStore(load, etcdAt) {
  const { EtcdClusterStore } = load('./shared/cluster-store/etcd/etcd-cluster-store.js');
  const { SealedClusterStore } = load('./shared/cluster-store/sealed-cluster-store.js');
  const { silentLogger } = load('./shared/base/logs/logger.js');
  const { EntrySeal } = load('./shared/base/secret/entry-seal.js');
  return new SealedClusterStore({
    store: new EtcdClusterStore({ endpoints: [etcdAt] }),
    seal: new EntrySeal({ secret: SECRET }),
    rule: 'required',
    log: silentLogger,
    onRefused: () => undefined,
  });
}

/**
 * Each node leads as many shards as any other, and their followers are all others in turn. Nobody has written to them
 * yet.
 */
export function assignmentsOf({ nodes, shards, storeOf }) {
  return Array.from({ length: shards }, (_, i) => {
    const leader = i % nodes;
    const turn = Math.floor(i / nodes) * (REPLICAS - 1);
    const followers = Array.from(
      { length: Math.min(REPLICAS, nodes) - 1 },
      (_one, at) => (leader + 1 + ((turn + at) % (nodes - 1))) % nodes,
    );
    const inSync = [leader, ...followers].map((number) => ({ node: nodeName(number), store: storeOf(number) }));
    const spec = { collectionUid: `collection-${Math.floor(i / 100)}`, shard: i % 100, dim: 4, metric: 'cosine' };
    const replicas = inSync.map(({ node }) => node);
    return {
      spec,
      unused: true,
      minInSync: Math.min(2, nodes),
      epoch: 1,
      primary: inSync[0],
      inSync,
      eligible: [],
      replicas,
      adding: [],
      removing: [],
      changeId: '',
    };
  });
}
