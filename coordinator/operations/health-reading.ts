import type { Clock } from '../../shared/time/clock';
import type { HealthView } from './operations-service';

/** Reads the health of a coordinator. Its uptime counts from the construction of this object. */
export class HealthReading {
  private readonly clock: Clock;
  private readonly collections: () => Promise<{ name: string; vectorCount: number; dim: number }[]>;
  private readonly embedding: () => HealthView['embedding'];
  private readonly startedMonotonicMs: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;

  constructor(options: { clock: Clock; collections: () => Promise<{ name: string; vectorCount: number; dim: number }[]>; embedding: () => HealthView['embedding'] }) {
    this.clock = options.clock;
    this.collections = options.collections;
    this.embedding = options.embedding;
    this.startedMonotonicMs = options.clock.monotonicMs();
    this.startedAt = new Date(options.clock.wallMs()).toISOString();
  }

  async read(): Promise<HealthView> {
    const collections = await this.collections();
    return {
      totalVectors: collections.reduce((total, { vectorCount }) => total + vectorCount, 0),
      totalCollections: collections.length,
      uptimeSeconds: Math.round(this.clock.monotonicMs() - this.startedMonotonicMs) / 1000,
      collections: collections.map(({ name, vectorCount, dim }) => ({ name, vectorCount, dim })),
      embedding: this.embedding(),
    };
  }
}
