import { type ClusterOptions, ClusterProcesses } from '../../support/processes/cluster-processes';

/**
 * A cluster of real processes on which the stories of a file happen in turn, because to start one takes as many seconds
 * of the processor as most stories. A story gets it in order and empty. One that fails, or leaves it otherwise, has
 * spent it, and the next gets a new one: no failure hangs on what was before.
 */
export class SharedCluster {
  private cluster: ClusterProcesses | null = null;

  constructor(private readonly options: ClusterOptions) {}

  /** The cluster for the next story, in which every process runs and there is no collection. */
  async take(): Promise<ClusterProcesses> {
    return (this.cluster ??= await ClusterProcesses.start(this.options));
  }

  /** Ends a story: removes what it has stored. Throws when the cluster is not whole. */
  async clear(): Promise<void> {
    const { cluster } = this;
    if (cluster === null) return;
    const ended = [...cluster.nodes, ...cluster.coordinators].filter(({ isRunning }) => !isRunning).map(({ id }) => id);
    if (ended.length > 0) throw new Error(`the story is over, and ${ended.join(', ')} did not come back`);
    await cluster.settled();
    const { collections } = await cluster.data<{ collections: { name: string }[] }>('GET', '/v1/collections');
    for (const { name } of collections) await cluster.data('DELETE', `/v1/collections/${name}`);
    await cluster.settled();
  }

  /** Ends every process, in any state: the next story gets a new cluster. */
  async destroy(): Promise<void> {
    const { cluster } = this;
    this.cluster = null;
    await cluster?.destroy();
  }

  /** For a story without a workload: runs it, and clears or destroys the cluster after it. */
  async runs(story: (cluster: ClusterProcesses) => Promise<void>): Promise<void> {
    try {
      await story(await this.take());
      await this.clear();
    } catch (error) {
      await this.destroy();
      throw error;
    }
  }
}

/** A cluster for the stories of a file, which ends after the last of them. */
export function sharedCluster(options: ClusterOptions = {}): SharedCluster {
  const shared = new SharedCluster(options);
  afterAll(() => shared.destroy());
  return shared;
}
