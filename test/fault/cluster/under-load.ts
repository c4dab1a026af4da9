import { ClusterProcesses, type ClusterOptions, type MemberProcess } from '../../support/cluster-processes';
import { runSeed } from '../../support/random';
import { contradictionsOf } from '../../support/register-history';
import { RegisterWorkload } from '../../support/register-workload';

export const COLLECTION = 'ledger';
/** How long the workload runs before and after what happens, at least. */
const WARM_UP_MS = 1_500;
const COOL_DOWN_MS = 1_500;

export interface Scene {
  cluster: ClusterProcesses;
  workload: RegisterWorkload;
  /** Lets time pass under load: what a fault does, it does over time. */
  pass(milliseconds: number): Promise<void>;
  /** Says which of the running coordinators clients send to from now on, as a load balancer does; at first all of them. */
  sendTo(isChosen: (coordinator: MemberProcess) => boolean): void;
}

/**
 * Runs a workload against a cluster of real processes while `story` happens to it, waits until every shard is in order
 * again, and checks what the clients saw: nothing acknowledged is lost or undone, no read is stale, both coordinators count
 * and export the same, and the replicas of a shard hold the same. Answers the workload for what else the story wants to know of it.
 */
export async function underLoad(name: string, options: ClusterOptions, story: (scene: Scene) => Promise<void>): Promise<RegisterWorkload> {
  const seed = runSeed(name);
  const cluster = await ClusterProcesses.start(options);
  let workload: RegisterWorkload | null = null;
  try {
    await cluster.data('POST', '/v1/collections', { name: COLLECTION, dim: 4 });
    await cluster.settled();
    const pass = (milliseconds: number): Promise<void> => new Promise((wake) => setTimeout(wake, milliseconds));
    let isChosen: (coordinator: MemberProcess) => boolean = () => true;
    workload = new RegisterWorkload({
      urls: () => cluster.coordinators.flatMap((coordinator, i) => (coordinator.isRunning && isChosen(coordinator) ? [cluster.baseUrl(i)] : [])),
      collection: COLLECTION,
      seed,
    });
    await pass(WARM_UP_MS);
    await story({ cluster, workload, pass, sendTo: (choice) => (isChosen = choice) });
    await pass(COOL_DOWN_MS);
    await workload.stop();
    await cluster.settled();
    const running = cluster.coordinators.flatMap((coordinator, i) => (coordinator.isRunning ? [i] : []));
    const exports: string[] = [];
    for (const i of running) {
      await workload.readAll(cluster.baseUrl(i));
      const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`, undefined, i);
      const { vectors } = await cluster.data('GET', `/v1/collections/${COLLECTION}/export`, undefined, i);
      expect(vectors).toHaveLength(count);
      exports.push(JSON.stringify(vectors));
    }
    expect(new Set(exports).size).toBe(1);
    expect(await cluster.differences()).toEqual([]);
    expect(contradictionsOf(workload.history)).toEqual([]);
    return workload;
  } catch (error) {
    await workload?.stop();
    const outputs = [...cluster.nodes, ...cluster.coordinators].map(({ id, output }) => `== ${id}\n${output.slice(-3000)}`).join('\n');
    throw new Error(`${(error as Error).message}\nerrors: ${JSON.stringify([...(workload?.errors ?? [])])}\n${outputs}`, { cause: error });
  } finally {
    await cluster.destroy();
  }
}
