import type { ClusterView, HealthView, NodeView, OperationsService } from '../../../coordinator/operations/operations-service';
import type { CollectionsService } from '../../../coordinator/service';
import { QuiverError } from '../../../shared/errors/quiver-error';

/** A cluster of one that has nowhere to move shards. */
export class MemoryOperations implements OperationsService {
  private readonly startedAt = new Date();

  constructor(private readonly collections: CollectionsService) {}

  async health(): Promise<HealthView> {
    const views = await this.collections.list();
    return {
      totalVectors: views.reduce((sum, { vectorCount }) => sum + vectorCount, 0),
      totalCollections: views.length,
      uptimeSeconds: (Date.now() - this.startedAt.getTime()) / 1000,
      collections: views.map(({ name, vectorCount, dim }) => ({ name, vectorCount, dim })),
      embedding: { configured: 'words', active: 'words', fallbackReason: null },
    };
  }

  async cluster(): Promise<ClusterView> {
    const views = await this.collections.list();
    return {
      mode: 'embedded',
      controller: 'memory',
      coordinators: [{ id: 'memory', address: 'local', pid: process.pid, startedAt: this.startedAt.toISOString() }],
      nodes: [this.node(views.reduce((sum, { vectorCount }) => sum + vectorCount, 0))],
      shards: views.map(({ name, vectorCount }) => ({
        collection: name,
        shard: 0,
        epoch: 1,
        primary: 'memory',
        inSync: ['memory'],
        learners: [],
        state: 'ok' as const,
        vectors: vectorCount,
        lastOperation: vectorCount,
        lagOperations: { memory: 0 },
      })),
      moves: [],
    };
  }

  async drain(nodeId: string): Promise<NodeView> {
    this.find(nodeId);
    throw new QuiverError('invalid_parameter', 'there is no other node to move shards to');
  }

  async undrain(nodeId: string): Promise<NodeView> {
    return this.find(nodeId);
  }

  private find(nodeId: string): NodeView {
    if (nodeId !== 'memory') throw new QuiverError('not_found', `node "${nodeId}" not found`);
    return this.node(0);
  }

  private node(vectors: number): NodeView {
    return { id: 'memory', address: 'local', zone: '', pid: process.pid, state: 'up', primaries: 1, replicas: 1, vectors, diskBytes: 0 };
  }
}
