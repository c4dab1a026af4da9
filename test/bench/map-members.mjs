// Some members of a cluster as far as they follow its map, in one process: what map-bench.mjs measures.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, scratch, endpoint, ...ids] = process.argv.slice(2);
const load = createRequire(join(folder, 'dist', 'index.js'));
const { EtcdClusterStore } = load('./shared/cluster-store/etcd/etcd-cluster-store.js');
const { silentLogger } = load('./shared/base/logs/logger.js');
const { systemClock } = load('./shared/base/time/clock.js');

for (const id of ids) {
  const store = new EtcdClusterStore({ endpoints: [endpoint] });
  if (id.startsWith('coordinator')) await begun(startCoordinator(store));
  else await begun(await newNode(id, store));
}
process.send('ready');

/** All members begin at once here, which is more than an etcd on the same processors answers in time. */
async function begun(start) {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (error.kind !== 'unavailable') throw error;
    }
  }
}

function startCoordinator(store) {
  const map = new (load('./coordinator/cluster/cluster-map.js').ClusterMap)({ store, log: silentLogger });
  return () => map.follow();
}

async function newNode(nodeId, store) {
  const { NodeAgent } = load('./node/hosting/replicas/node-agent.js');
  const { KnownAssignments } = load('./node/hosting/replicas/known-assignments.js');
  const own = join(scratch, nodeId);
  mkdirSync(own);
  const agent = new NodeAgent({
    nodeId,
    store,
    folder: own,
    openReplica: async (spec) => ({
      spec,
      replica: { assigned: () => undefined, status: () => ({ role: 'follower' }) },
      close: async () => undefined,
    }),
    openReplicasMax: Infinity,
    removeReplica: async () => undefined,
    publishFailures: () => undefined,
    known: await KnownAssignments.load(own, silentLogger),
    promisedEpoch: async () => 0,
    publishLater: () => undefined,
    clock: systemClock,
    log: silentLogger,
  });
  return () => agent.start();
}
