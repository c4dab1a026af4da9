import type { StartTarget } from './api-target';
import { API_KEY, ClusterProcesses } from './cluster-processes';

/**
 * A cluster of real processes as a target of the API suites: everything goes through the second coordinator, so that
 * none of it is next to the controller. Ended the polite way, and its data removed.
 */
export const startCluster: StartTarget = async (environment = {}) => {
  const cluster = await ClusterProcesses.start({ environment });
  return {
    baseUrl: cluster.baseUrl(1),
    adminKey: API_KEY,
    stop: async () => {
      const members = [...cluster.coordinators, ...cluster.nodes];
      const codes = await cluster.stop();
      const outputs = members.filter((_, i) => codes[i] !== 0).map((member) => `${member.id}: ${member.output}`);
      await cluster.destroy();
      if (codes.some((code) => code !== 0)) throw new Error(`processes ended with ${codes.join(', ')}: ${outputs.join('\n')}`);
    },
  };
};
