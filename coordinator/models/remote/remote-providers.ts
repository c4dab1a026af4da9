import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbeddingProviderSetting } from '../../../shared/base/config/embedding-providers';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { EmbeddingDispatcher } from '../transformers/embedding-dispatcher';
import { modelFailure } from '../transformers/model-failure';
import { ProviderGate, type Pauses } from './provider-gate';
import { RefusedText, RemoteEmbedder, type RemoteObserver } from './remote-embedder';
import { RemoteModel } from './remote-model';
import { TokenBudget } from './token-budget';
import { VectorCache, vectorDigest } from './vector-cache';

/** Code units of the texts of one call. */
const BATCH_CHARACTERS_MAX = 262_144;
const CACHE_ENDING = '.vectors';

export interface RemoteProvidersOptions {
  providers: readonly EmbeddingProviderSetting[];
  /** The key of a provider at present; '': it has none. */
  keyOf: (provider: string) => string;
  /** Where what was spent is counted. */
  store: Pick<ClusterStore, 'get' | 'transact'>;
  /** The folder for vectors. */
  cacheDir: string;
  /** Longest time of the embedding of a call's texts. */
  timeoutMs: number;
  dimMax: number;
  clock: Clock;
  log: Pick<Logger, 'warn' | 'error'>;
  observer: RemoteObserver;
  /** Default: those of the system. */
  pauses?: Pauses;
  random?: () => number;
}

interface OpenProvider {
  setting: EmbeddingProviderSetting;
  gate: ProviderGate;
  budget: TokenBudget;
}

/** The models of the providers that the configuration names. */
export class RemoteProviders {
  private readonly providers = new Map<string, OpenProvider>();
  private readonly models = new Map<string, Promise<RemoteModel>>();
  private readonly pauses: Pauses;

  constructor(private readonly options: RemoteProvidersOptions) {
    const { providers, clock, store } = options;
    this.pauses = options.pauses ?? {
      monotonicMs: () => clock.monotonicMs(),
      pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    };
    for (const setting of providers) {
      const { name, requestsPerMinute: perMinute, tokensPerDay: perDay } = setting;
      const gate = new ProviderGate({ name, perMinute, ...this.pauses });
      this.providers.set(name, { setting, gate, budget: new TokenBudget({ provider: name, perDay, store, clock }) });
    }
  }

  /** What collections may name. */
  get names(): string[] {
    return this.options.providers.flatMap(({ name, models }) => models.map((model) => `${name}:${model.name}`));
  }

  /** Removes vectors of models that are not there any more. */
  async tidy(): Promise<void> {
    const { cacheDir, providers, log } = this.options;
    const kept = new Set(providers.flatMap((one) => one.models.map(({ name }) => cacheFile(one, name))));
    try {
      for (const file of await readdir(cacheDir).catch(() => []))
        if (file.endsWith(CACHE_ENDING) && !kept.has(file)) await rm(join(cacheDir, file), { force: true });
    } catch (error) {
      log.warn({ error }, 'vectors of embedding providers that are not there any more could not be removed');
    }
  }

  /** Errors: embedding_unavailable; overloaded, rate_limited, unavailable. */
  async model(provider: string, model: string): Promise<RemoteModel> {
    const name = `${provider}:${model}`;
    const known = this.models.get(name);
    if (known !== undefined) return known;
    const opening = this.opened(provider, model);
    this.models.set(name, opening);
    opening.catch(() => this.models.delete(name));
    return opening;
  }

  /** Of the vectors that it makes now. Errors: as model. */
  async dimensionOf(provider: string, model: string): Promise<number> {
    const open = await this.model(provider, model);
    return this.configuredDim(provider, model) || open.probe();
  }

  async close(): Promise<void> {
    await Promise.all([...this.models.values()].map(async (model) => (await model.catch(() => null))?.close()));
  }

  private configuredDim(provider: string, model: string): number {
    return this.providers.get(provider)?.setting.models.find(({ name }) => name === model)?.dim ?? 0;
  }

  private async opened(provider: string, model: string): Promise<RemoteModel> {
    const found = this.providers.get(provider);
    const name = `${provider}:${model}`;
    if (found === undefined)
      throw modelFailure(`"${name}" is of an embedding provider that this server lacks: ${this.whatIsHere()}`);
    if (!found.setting.models.some((one) => one.name === model))
      throw modelFailure(`"${name}" is no embedding model that this server may use: ${this.whatIsHere()}`);
    const { setting, gate, budget } = found;
    const { keyOf, dimMax, timeoutMs, log, observer, random = Math.random } = this.options;
    const cache = await this.cache(setting, model);
    const keep = (texts: readonly string[], vectors: Float32Array, dim: number): void =>
      texts.forEach((text, i) => cache?.put(vectorDigest(text), vectors.slice(i * dim, (i + 1) * dim)));
    const start = (): RemoteEmbedder =>
      new RemoteEmbedder({
        name,
        provider,
        model,
        url: embeddingsUrl(setting.url),
        apiKey: () => keyOf(provider),
        encoding: setting.encoding,
        dimMax,
        timeoutMs: setting.timeoutMs,
        gate,
        budget,
        observer,
        onVectors: keep,
        pauses: this.pauses,
        random,
      });
    const runner = start();
    runner.dim = this.configuredDim(provider, model) || (cache?.dim ?? 0);
    const dispatcher = new EmbeddingDispatcher({
      runners: [runner],
      restart: async () => Object.assign(start(), { dim: runner.dim }),
      timeoutMs: Math.max(timeoutMs, setting.timeoutMs),
      log,
      bounds: { textsMax: setting.batch, charactersMax: BATCH_CHARACTERS_MAX, isPadded: false },
      requestsPerRunner: setting.concurrency,
      isOfOneText: (error) => error instanceof RefusedText,
    });
    const opened = new RemoteModel({
      name,
      provider,
      charactersMax: setting.characters,
      runner,
      dispatcher,
      cache,
      budget,
      observer,
    });
    try {
      if (runner.dim === 0) await runner.probe();
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  private whatIsHere(): string {
    const { names } = this;
    return names.length === 0 ? 'EMBEDDING_PROVIDERS is not set' : `EMBEDDING_PROVIDERS has ${names.join(', ')}`;
  }

  /** null: nothing is kept. */
  private async cache(setting: EmbeddingProviderSetting, model: string): Promise<VectorCache | null> {
    const { cacheDir, log } = this.options;
    if (setting.cacheBytes === 0) return null;
    const about = `${setting.name}:${model}`;
    try {
      return await VectorCache.open({
        path: join(cacheDir, cacheFile(setting, model)),
        bytesMax: setting.cacheBytes,
        onError: (error) => log.warn({ model: about, error }, 'vectors of an embedding provider could not be kept'),
      });
    } catch (error) {
      log.warn(
        { model: about, error },
        'vectors of an embedding provider can not be kept: each text is asked for anew',
      );
      return null;
    }
  }
}

/** Another address may have another model of that name. */
function cacheFile({ name, url }: EmbeddingProviderSetting, model: string): string {
  return (
    createHash('sha256')
      .update(JSON.stringify([name, url, model]))
      .digest('hex')
      .slice(0, 32) + CACHE_ENDING
  );
}

function embeddingsUrl(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/embeddings`;
  return url.href;
}
