import type { Clock } from '../../../shared/base/time/clock';
import type { Scoped } from '../../service/keys/collection-scope';
import { UNKNOWN_COUNT } from '../../service/service';
import type { CountedCollection, HealthView } from './operations-service';

/** Reads the health of a coordinator. Its uptime counts from the construction of this object. */
export class HealthReading {
  private readonly clock: Clock;
  private readonly collections: (caller?: Scoped) => Promise<CountedCollection[]>;
  private readonly embedding: () => HealthView['embedding'];
  private readonly rerankModels: readonly string[];
  private readonly startedMonotonicMs: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;

  constructor(options: {
    clock: Clock;
    collections: (caller?: Scoped) => Promise<CountedCollection[]>;
    embedding: () => HealthView['embedding'];
    rerankModels: readonly string[];
  }) {
    this.clock = options.clock;
    this.collections = options.collections;
    this.embedding = options.embedding;
    this.rerankModels = options.rerankModels;
    this.startedMonotonicMs = options.clock.monotonicMs();
    this.startedAt = new Date(options.clock.wallMs()).toISOString();
  }

  async read(caller?: Scoped): Promise<HealthView> {
    const collections = await this.collections(caller);
    return {
      totalVectors: collections.reduce(
        (total, { vectorCount }) => total + (vectorCount === UNKNOWN_COUNT ? 0 : vectorCount),
        0,
      ),
      totalCollections: collections.length,
      uptimeSeconds: Math.round(this.clock.monotonicMs() - this.startedMonotonicMs) / 1000,
      collections: collections.map(({ name, vectorCount, dim, unavailableShards }) => ({
        name,
        vectorCount,
        dim,
        unavailableShards,
      })),
      embedding: this.embedding(),
      rerankModels: this.rerankModels,
    };
  }
}
