import { Counter, Histogram } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { RemoteObserver } from '../../models/remote/remote-embedder';

/** From a small batch on a near server to one that waits for its turn, in seconds. */
const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const SOURCES = ['provider', 'cache'] as const;

/** What embedding providers do, by their names. */
export class ProviderMetrics implements RemoteObserver {
  private readonly durations: Histogram<'provider'>;
  private readonly texts: Counter<'provider' | 'source'>;
  private readonly tokens: Counter<'provider'>;
  private readonly failures: Counter<'provider'>;

  /** `providers`: the names of those that there are. */
  constructor(providers: readonly string[], metrics: ProcessMetrics) {
    const registers = [metrics.registry];
    const labelNames = ['provider'] as const;
    this.durations = new Histogram({
      name: 'quiver_embedding_provider_duration_seconds',
      help: 'Time of a call of an embedding provider that was answered, with all its attempts',
      labelNames,
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.texts = new Counter({
      name: 'quiver_embedding_provider_texts_total',
      help: 'Texts for models of an embedding provider, by who had their vectors: it, or the cache on the disk',
      labelNames: ['provider', 'source'],
      registers,
    });
    this.tokens = new Counter({
      name: 'quiver_embedding_provider_tokens_total',
      help: 'Tokens that an embedding provider counted, or that were estimated where it does not say',
      labelNames,
      registers,
    });
    this.failures = new Counter({
      name: 'quiver_embedding_provider_failures_total',
      help: 'Calls that an embedding provider did not answer in spite of all attempts',
      labelNames,
      registers,
    });
    for (const provider of providers) {
      this.durations.zero({ provider });
      this.tokens.inc({ provider }, 0);
      this.failures.inc({ provider }, 0);
      for (const source of SOURCES) this.texts.inc({ provider, source }, 0);
    }
  }

  call(provider: string, texts: number, tokens: number, durationMs: number): void {
    this.durations.observe({ provider }, durationMs / 1000);
    this.texts.inc({ provider, source: 'provider' }, texts);
    this.tokens.inc({ provider }, tokens);
  }

  cached(provider: string, texts: number): void {
    this.texts.inc({ provider, source: 'cache' }, texts);
  }

  failure(provider: string): void {
    this.failures.inc({ provider });
  }
}
