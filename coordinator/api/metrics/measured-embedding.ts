import { Counter, Histogram } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { CountsByStep, StepHistogram } from '../../../shared/base/metrics/step-histogram';
import type { CollectionEmbedding, ModelChoice } from '../../models/collection-embedding';
import type { EmbeddingModel, EmbeddingProvider, EmbeddingStatus } from '../../models/embedding-provider';
import type { CountedCalls } from './recent-activity';

/** From a cached query to a batch of long passages on a busy processor, in seconds. */
const DURATION_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const KINDS = ['query', 'passage'] as const;
type Kind = (typeof KINDS)[number];

/** An EmbeddingProvider that measures another: time and texts of each call, including those that a cache answers. */
export class MeasuredEmbedding implements EmbeddingProvider, CountedCalls {
  private readonly provider: EmbeddingProvider;
  private readonly durations: StepHistogram<Kind>;
  private readonly failed = new Map<string, number>();
  readonly bounds = DURATION_BUCKETS;
  private readonly batches: Histogram<'kind'>;
  private readonly failureCounter: Counter<'kind'>;
  private readonly measured = new WeakMap<EmbeddingModel, EmbeddingModel>();

  constructor(provider: EmbeddingProvider, metrics: ProcessMetrics) {
    this.provider = provider;
    const labelNames = ['kind'] as const;
    const registers = [metrics.registry];
    this.durations = metrics.stepHistogram({
      name: 'quiver_embedding_duration_seconds',
      help: 'Time to embed the texts of one call, of a query or of passages to store',
      label: 'kind',
      steps: KINDS,
      buckets: DURATION_BUCKETS,
    });
    this.batches = new Histogram({
      name: 'quiver_embedding_batch_texts',
      help: 'Texts embedded in one call',
      labelNames,
      buckets: BATCH_BUCKETS,
      registers,
    });
    this.failureCounter = new Counter({
      name: 'quiver_embedding_failures_total',
      help: 'Calls whose texts could not be embedded',
      labelNames,
      registers,
    });
    for (const kind of KINDS) {
      this.batches.zero({ kind });
      this.failureCounter.inc({ kind }, 0);
    }
  }

  async defaultModel(): Promise<EmbeddingModel> {
    return this.measure(await this.provider.defaultModel());
  }

  async model(name: string): Promise<EmbeddingModel> {
    return this.measure(await this.provider.model(name));
  }

  async modelFor(collection: ModelChoice): Promise<EmbeddingModel> {
    return this.measure(await this.provider.modelFor(collection));
  }

  dimensionOf(embedding: CollectionEmbedding): Promise<number | null> {
    return this.provider.dimensionOf(embedding);
  }

  status(): EmbeddingStatus {
    return this.provider.status();
  }

  counts(): CountsByStep {
    return this.durations.read();
  }

  failures(): ReadonlyMap<string, number> {
    return this.failed;
  }

  private measure(model: EmbeddingModel): EmbeddingModel {
    let found = this.measured.get(model);
    if (found === undefined) {
      found = {
        name: model.name,
        get dim() {
          return model.dim;
        },
        embed: (texts, options) => this.embed(model, texts, options),
        ...(model.measure !== undefined && { measure: (texts: string[]) => model.measure!(texts) }),
      };
      this.measured.set(model, found);
    }
    return found;
  }

  private async embed(
    model: EmbeddingModel,
    texts: string[],
    options: { dim: number; kind: Kind },
  ): Promise<Float32Array[]> {
    const labels = { kind: options.kind };
    const startMs = performance.now();
    try {
      return await model.embed(texts, options);
    } catch (error) {
      this.failureCounter.inc(labels);
      this.failed.set(options.kind, (this.failed.get(options.kind) ?? 0) + 1);
      throw error;
    } finally {
      this.durations.observe(options.kind, (performance.now() - startMs) / 1000);
      this.batches.observe(labels, texts.length);
    }
  }
}
