import { FOLLOWER_READS, type FollowerRead } from '../../../node/replication/replica';
import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import type { MemberProcess } from '../../support/processes/member-process';
import { StillDocuments } from './still-documents';
import { COLLECTION, underLoad } from './under-load';

/**
 * So many searches at once make a shard's primary busy, so that its follower is asked, too, and clients' reads with
 * them.
 */
const SEARCHES = 12;
/** Between the answers to them and the next: busy for half of the time is enough for what reads may meet. */
const REST_MS = 20;
/** A follower that declines is left alone for a second, so on a busy machine it answers a few in each. */
const ENOUGH_READS = 20;
/** Longer than a share lasts, and than a follower stays in sync. */
const PAUSE_MS = 3_000;

test('both replicas of a busy shard answer reads, and none that was frozen or took over shows what is outdated', async () => {
  await underLoad(
    'read-from-followers',
    { nodes: 2, replicas: 2, shards: 1, environment: { HTTP_THREADS: '1' } },
    async ({ cluster, writes, lasts }) => {
      const still = await StillDocuments.put(cluster, 100);
      const searches = new Searches(cluster);
      try {
        await still.checkWhile(bothAnswer(cluster));

        const primary = await cluster.primaryOf(COLLECTION);
        const follower = cluster.nodes.find((node) => node !== primary)!;
        follower.pause();
        await lasts(PAUSE_MS);
        // Acknowledged without it, so that it would show what is outdated.
        await writes(25);
        follower.resume();
        await writes(25);
        await eventually(
          'the follower is in sync',
          async () => (await cluster.shardOf(COLLECTION)).in_sync.length === 2,
        );
        await bothAnswer(cluster);

        await cluster.replaced(primary, COLLECTION, 0, { begin: () => primary.kill(), end: () => primary.start() });
        await writes(25);
        await primary.start();
        await cluster.settled();
        await still.checkWhile(bothAnswer(cluster));
      } finally {
        await searches.stop();
      }
    },
  );
});

/** Clients that search at the same time, again and again, and whom errors don't stop. */
class Searches {
  private isOver = false;
  private readonly running: Promise<void>;

  constructor(private readonly cluster: ClusterProcesses) {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      await Promise.all(Array.from({ length: SEARCHES }, (_, client) => this.search(client).catch(() => undefined)));
      await new Promise((wake) => setTimeout(wake, REST_MS));
    }
  }

  private search(client: number): Promise<unknown> {
    return this.cluster.call('POST', `/v1/collections/${COLLECTION}/search`, { vector: [1, client, 2, 3], k: 5 });
  }
}

/** Waits until the node that follows and the one that leads have each answered many more searches. */
async function bothAnswer(cluster: ClusterProcesses): Promise<void> {
  const primary = await cluster.primaryOf(COLLECTION);
  const follower = cluster.nodes.find((node) => node !== primary)!;
  const [asFollower, ofPrimary] = [await followerReads(follower), await searchesOf(primary)];
  await eventually(
    'the follower answers searches',
    async () => (await followerReads(follower)).answered > asFollower.answered + ENOUGH_READS,
  );
  await eventually('so does the primary', async () => (await searchesOf(primary)) > ofPrimary + ENOUGH_READS);
}

async function followerReads(node: MemberProcess): Promise<Record<FollowerRead, number>> {
  const text = await metricsOf(node);
  const count = (outcome: FollowerRead): number =>
    Number(new RegExp(`^quiver_follower_reads_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  return Object.fromEntries(FOLLOWER_READS.map((outcome) => [outcome, count(outcome)])) as Record<FollowerRead, number>;
}

async function searchesOf(node: MemberProcess): Promise<number> {
  return Number(
    /^quiver_node_operation_duration_seconds_count\{operation="search"\} (\d+)$/m.exec(await metricsOf(node))?.[1],
  );
}

async function metricsOf({ opsPort }: MemberProcess): Promise<string> {
  return (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
}
