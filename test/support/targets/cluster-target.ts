import type { ApiTarget, StartTarget } from './api-target';
import { API_KEY, ClusterProcesses, type ClusterOptions } from '../processes/cluster-processes';

/**
 * A cluster of real processes as a target of the API suites: everything goes through the second coordinator, so that
 * none of it is next to the controller.
 */
export const startCluster: StartTarget = (environment = {}) => start({ environment, shards: 2, threads: 2 });

/** One of each, for what a coordinator judges by itself. */
export const startSmallCluster: StartTarget = (environment = {}) =>
  start({ environment, nodes: 1, coordinators: 1, replicas: 1, shards: 2, threads: 2 });

/** Ended the polite way, and its data removed. */
async function start(options: ClusterOptions): Promise<ApiTarget> {
  const cluster = await ClusterProcesses.start(options);
  return {
    baseUrl: cluster.baseUrl(cluster.coordinators.length - 1),
    adminKey: API_KEY,
    stop: async () => {
      const members = [...cluster.coordinators, ...cluster.nodes];
      const codes = await cluster.stop();
      const outputs = members.filter((_, i) => codes[i] !== 0).map((member) => `${member.id}: ${member.output}`);
      await cluster.destroy();
      if (codes.some((code) => code !== 0))
        throw new Error(`processes ended with ${codes.join(', ')}: ${outputs.join('\n')}`);
    },
  };
}
