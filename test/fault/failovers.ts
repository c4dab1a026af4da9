import { ClusterProcesses } from '../support/processes/cluster-processes';
import { eventually } from '../support/eventually';
import type { MemberProcess } from '../support/processes/member-process';

/** How a primary can fail, and how that ends. */
export const FAILURES: Record<
  string,
  (cluster: ClusterProcesses, node: MemberProcess) => { begin(): Promise<void> | void; end(): Promise<void> | void }
> = {
  kill: (_, node) => ({ begin: () => node.kill(), end: () => node.start() }),
  pause: (_, node) => ({ begin: () => node.pause(), end: () => node.resume() }),
  'hang-disk': (cluster, node) => ({
    begin: () => cluster.diskOf(node.id).hang(),
    end: () => cluster.diskOf(node.id).restore(),
  }),
};

const COLLECTION = 'ledger';
/** Each sends one write after the other: one at least is new when the shard is served again. */
const WRITERS = 4;
const PAUSE_MS = 20;

/**
 * Lets the primary of a shard of two replicas fail, `rounds` times, in a cluster of three nodes and two coordinators,
 * each time when all is in order. Answers for each the milliseconds from the failure to the acknowledgement of the
 * first write that was sent after it.
 */
export async function failoverTimes({ failure, rounds }: { failure: string; rounds: number }): Promise<number[]> {
  const cluster = await ClusterProcesses.start({ replicas: 2, shards: 1, disks: failure === 'hang-disk' });
  /** In the order of the acknowledgements. */
  const acknowledged: { sentMs: number; atMs: number }[] = [];
  let isOver = false;
  const write = async (writer: number): Promise<void> => {
    for (let version = 0; !isOver; version += 1) {
      const sentMs = performance.now();
      const item = { external_id: `w${writer}`, vector: [version, 1] };
      const answer = await cluster
        .call('POST', `/v1/collections/${COLLECTION}/upsert`, item, writer % cluster.coordinators.length)
        .catch(() => null);
      if (answer?.status === 'success') acknowledged.push({ sentMs, atMs: performance.now() });
      await new Promise((wake) => setTimeout(wake, PAUSE_MS));
    }
  };
  const writers: Promise<void>[] = [];
  try {
    await cluster.data('POST', '/v1/collections', { name: COLLECTION, dim: 2 });
    await cluster.settled();
    writers.push(...Array.from({ length: WRITERS }, (_, i) => write(i)));
    const times: number[] = [];
    while (times.length < rounds) {
      const node = await cluster.primaryOf(COLLECTION);
      const { begin, end } = FAILURES[failure](cluster, node);
      await begin();
      const failedMs = performance.now();
      // What the disk had stored when it began to hang may still be acknowledged: another has to lead.
      const isReplaced = async (): Promise<boolean> => {
        const { primary } = await cluster.shardOf(COLLECTION).catch(() => ({ primary: null }));
        return primary !== null && primary !== node.id;
      };
      await eventually('another leads the shard', isReplaced);
      const first = () => acknowledged.find(({ sentMs }) => sentMs > failedMs);
      await eventually('a write is acknowledged', () => first() !== undefined);
      times.push(first()!.atMs - failedMs);
      await end();
      await cluster.settled();
      acknowledged.length = 0;
    }
    return times;
  } finally {
    isOver = true;
    await cluster.destroy();
    await Promise.all(writers);
  }
}
