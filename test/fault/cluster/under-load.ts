import { ClusterProcesses, type ClusterOptions, type MemberProcess } from '../../support/cluster-processes';
import { eventually } from '../../support/eventually';
import { runSeed } from '../../support/random';
import { contradictionsOf } from '../../support/register-history';
import { RegisterWorkload } from '../../support/register-workload';

export const COLLECTION = 'ledger';
/** Writes that are acknowledged before and after what happens, at least: every id is written some times. */
const CALM_WRITES = 200;
/** A minute without an answer is no failover any more, on any machine. */
const WRITES_WITHIN_MS = 90_000;

export interface Scene {
  cluster: ClusterProcesses;
  workload: RegisterWorkload;
  /** Waits until so many more writes are acknowledged. */
  writes(count: number): Promise<void>;
  /** Lets a fault last under load, for longer than something of the protocol: nothing shows when that is over. */
  lasts(milliseconds: number): Promise<void>;
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
    const lasts = (milliseconds: number): Promise<void> => new Promise((wake) => setTimeout(wake, milliseconds));
    let isChosen: (coordinator: MemberProcess) => boolean = () => true;
    const clients = new RegisterWorkload({
      urls: () => cluster.coordinators.flatMap((coordinator, i) => (coordinator.isRunning && isChosen(coordinator) ? [cluster.baseUrl(i)] : [])),
      collection: COLLECTION,
      seed,
    });
    workload = clients;
    const writes = async (count: number): Promise<void> => {
      const enough = clients.acknowledged + count;
      await eventually(`${count} more writes are acknowledged`, () => clients.acknowledged >= enough, WRITES_WITHIN_MS);
    };
    await writes(CALM_WRITES);
    await story({ cluster, workload, writes, lasts, sendTo: (choice) => (isChosen = choice) });
    await writes(CALM_WRITES);
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
