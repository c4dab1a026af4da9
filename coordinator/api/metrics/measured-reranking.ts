import { Counter, Histogram } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { RerankOptions, RerankProvider } from '../../models/rerank/reranker';

/** From scores that are all remembered to a thousand long texts, in seconds. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const SOURCES = ['model', 'cache', 'none'] as const;

/** A RerankProvider that measures another: time, texts and failures of each call, by model. */
export class MeasuredReranking implements RerankProvider {
  private readonly durations: Histogram<'model'>;
  private readonly failures: Counter<'model'>;
  private readonly texts: Counter<'model' | 'source'>;

  /** `names`: of the models that there are. */
  constructor(
    private readonly provider: RerankProvider,
    names: readonly string[],
    metrics: ProcessMetrics,
  ) {
    const registers = [metrics.registry];
    this.durations = new Histogram({
      name: 'quiver_rerank_duration_seconds',
      help: 'Time to score the texts of one call for a query',
      labelNames: ['model'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.texts = new Counter({
      name: 'quiver_rerank_texts_total',
      help: 'Texts of calls that were answered, by where their scores come from; none: the budget was over before',
      labelNames: ['model', 'source'],
      registers,
    });
    this.failures = new Counter({
      name: 'quiver_rerank_failures_total',
      help: 'Calls whose texts could not be scored, refused ones too',
      labelNames: ['model'],
      registers,
    });
    for (const model of names) {
      this.durations.zero({ model });
      this.failures.inc({ model }, 0);
      for (const source of SOURCES) this.texts.inc({ model, source }, 0);
    }
  }

  modelOf(asked: string | undefined): Promise<string> {
    return this.provider.modelOf(asked);
  }

  async score(
    model: string,
    query: string,
    texts: readonly string[],
    options: RerankOptions = {},
  ): Promise<(number | undefined)[]> {
    const startMs = performance.now();
    let cached = 0;
    const onCached = (count: number): void => {
      cached = count;
      options.onCached?.(count);
    };
    try {
      const scores = await this.provider.score(model, query, texts, { ...options, onCached });
      const none = scores.reduce((sum: number, score) => sum + Number(score === undefined), 0);
      this.texts.inc({ model, source: 'cache' }, cached);
      this.texts.inc({ model, source: 'none' }, none);
      this.texts.inc({ model, source: 'model' }, texts.length - cached - none);
      return scores;
    } catch (error) {
      this.failures.inc({ model });
      throw error;
    } finally {
      this.durations.observe({ model }, (performance.now() - startMs) / 1000);
    }
  }
}
