import type { Clock } from '../shared/base/time/clock';
import { QuiverError } from '../shared/base/errors/quiver-error';
import type { NewShardReading } from '../coordinator/jobs/reshard/reshard-requests';
import type { ShardReading } from '../coordinator/service/collections/shard-reading';
import type { ReshardView } from '../coordinator/service/service';
import { HealthReading } from '../coordinator/cluster/operations/health-reading';
import type { Scoped } from '../coordinator/service/keys/collection-scope';
import type {
  ClusterView,
  CountedCollection,
  HealthView,
  NodeView,
  OperationsService,
  ShardView,
} from '../coordinator/cluster/operations/operations-service';

/** What the one process of the embedded form is called. */
export interface EmbeddedProcess {
  coordinatorId: string;
  nodeId: string;
  /** host:port of the API. */
  address: string;
  zone: string;
  pid: number;
}

/** Health and cluster state of the embedded form: one coordinator, one node, every shard in sync with itself. */
export class EmbeddedOperations implements OperationsService {
  private readonly process: EmbeddedProcess;
  private readonly shards: () => Promise<ShardReading[]>;
  private readonly reshards: () => Promise<ReshardView[]>;
  private readonly newShards: () => Promise<NewShardReading[]>;
  private readonly reading: HealthReading;

  /** The process counts as started now. */
  constructor(options: {
    process: EmbeddedProcess;
    clock: Clock;
    collections: (caller?: Scoped) => Promise<CountedCollection[]>;
    shards: () => Promise<ShardReading[]>;
    reshards: () => Promise<ReshardView[]>;
    newShards: () => Promise<NewShardReading[]>;
    embedding: () => HealthView['embedding'];
    rerankModels: readonly string[];
  }) {
    this.process = options.process;
    this.shards = options.shards;
    this.reshards = options.reshards;
    this.newShards = options.newShards;
    this.reading = new HealthReading(options);
  }

  health(caller?: Scoped): Promise<HealthView> {
    return this.reading.read(caller);
  }

  async cluster(): Promise<ClusterView> {
    const { coordinatorId, address, pid } = this.process;
    const readings = await this.shards();
    return {
      mode: 'embedded',
      controller: coordinatorId,
      coordinators: [{ id: coordinatorId, address, pid, startedAt: this.reading.startedAt }],
      nodes: [this.node(readings)],
      shards: readings.map(({ collection, shard, status }) =>
        this.shard({ collection, shard, vectors: status?.vectorCount ?? null, lastOperation: status?.lastOperation }),
      ),
      newShards: (await this.newShards()).map(({ collection, shard, vectors }) =>
        this.shard({ collection, shard, vectors }),
      ),
      moves: [],
      reshards: await this.reshards(),
    };
  }

  /** Always refused: its shards have nowhere to go. */
  async drain(nodeId: string): Promise<NodeView> {
    this.checkNode(nodeId);
    throw new QuiverError(
      'invalid_parameter',
      `node ${nodeId} cannot be drained: it is the only node, so its shards have nowhere to move`,
    );
  }

  /** Always refused: nothing but its own store says who holds what. */
  async adopt(): Promise<never> {
    throw new QuiverError('invalid_parameter', 'there is nothing to adopt: the only node holds every shard');
  }

  /** The node is up and stays so. */
  async undrain(nodeId: string): Promise<NodeView> {
    this.checkNode(nodeId);
    return this.node(await this.shards());
  }

  private checkNode(nodeId: string): void {
    if (nodeId !== this.process.nodeId) throw new QuiverError('not_found', `node ${nodeId} does not exist`);
  }

  private node(readings: ShardReading[]): NodeView {
    const { nodeId, address, zone, pid } = this.process;
    return {
      id: nodeId,
      address,
      zone,
      pid,
      state: 'up',
      downSince: null,
      primaries: readings.length,
      replicas: 0,
      vectors: sum(readings.map((reading) => reading.status?.vectorCount ?? 0)),
      diskBytes: sum(readings.map((reading) => reading.status?.diskBytes ?? 0)),
    };
  }

  /** `vectors`: null of a shard that does not answer. */
  private shard({
    collection,
    shard,
    vectors,
    lastOperation = 0,
  }: {
    collection: string;
    shard: number;
    vectors: number | null;
    lastOperation?: number | undefined;
  }): ShardView {
    const { nodeId } = this.process;
    return {
      collection,
      shard,
      epoch: 1,
      primary: nodeId,
      inSync: [nodeId],
      learners: [],
      state: vectors === null ? 'unavailable' : 'ok',
      vectors: vectors ?? 0,
      lastOperation,
      lagOperations: { [nodeId]: 0 },
      laterEpoch: null,
    };
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
