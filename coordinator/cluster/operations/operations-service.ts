import type { EmbeddingStatus } from '../../models/embedding-provider';
import type { Scoped } from '../../service/keys/collection-scope';
import type { CollectionView, ReshardView } from '../../service/service';

/**
 * What operators ask a running service: its health and the state of the cluster. The embedded form answers as a cluster
 * of one.
 */
export interface OperationsService {
  /** Of the collections that `caller` may know of; default: of all. */
  health(caller?: Scoped): Promise<HealthView>;
  cluster(): Promise<ClusterView>;
  /**
   * Errors: not_found; invalid_parameter where it can't be done (the embedded form has no other node to move shards
   * to).
   */
  drain(nodeId: string): Promise<NodeView>;
  undrain(nodeId: string): Promise<NodeView>;
  /**
   * Makes one node's replica of a shard what counts, after the cluster store was put back and nobody can tell what was
   * in force. Errors: not_found; invalid_parameter where there is nothing to decide; unavailable.
   */
  adopt(collection: string, shard: number, nodeId: string): Promise<AdoptionView>;
}

/** What health says of a collection. */
export type CountedCollection = Pick<CollectionView, 'name' | 'vectorCount' | 'dim' | 'unavailableShards'>;

export interface HealthView {
  /** Of the collections that can be counted. */
  totalVectors: number;
  totalCollections: number;
  uptimeSeconds: number;
  collections: CountedCollection[];
  embedding: EmbeddingStatus;
  /** Names of those that requests may name, the default first. */
  rerankModels: readonly string[];
}

export interface ClusterView {
  mode: 'embedded' | 'cluster';
  controller: string | null;
  coordinators: { id: string; address: string; pid: number; startedAt: string }[];
  nodes: NodeView[];
  shards: ShardView[];
  /** Those that are to take the place of a collection's shards. */
  newShards: ShardView[];
  moves: { collection: string; shard: number; from: string; to: string; phase: string; progress: number }[];
  reshards: ReshardView[];
}

export interface AdoptionView {
  collection: string;
  shard: number;
  primary: string;
  epoch: number;
  /** By the map, before. */
  earlierEpoch: number;
}

export interface NodeView {
  id: string;
  address: string;
  zone: string;
  pid: number;
  state: 'up' | 'draining' | 'drained' | 'down';
  /** ISO 8601; null: it is not down, or nobody saw it go. */
  downSince: string | null;
  primaries: number;
  replicas: number;
  vectors: number;
  diskBytes: number;
}

export interface ShardView {
  collection: string;
  shard: number;
  epoch: number;
  primary: string | null;
  inSync: string[];
  learners: { node: string; progress: number }[];
  state: 'ok' | 'degraded' | 'unavailable';
  vectors: number;
  lastOperation: number;
  /** How many operations each replica is behind, by node id. */
  lagOperations: Record<string, number>;
  /** The latest epoch of the shard that a node knows, when the shard map is earlier than that; else null. */
  laterEpoch: number | null;
}
