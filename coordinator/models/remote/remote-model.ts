import { inSlices } from '../../../shared/base/time/work-slices';
import type { EmbeddingModel, EmbedOptions } from '../embedding-provider';
import type { EmbeddingDispatcher } from '../transformers/embedding-dispatcher';
import { laneOf } from '../transformers/text-queue';
import type { RemoteEmbedder, RemoteObserver } from './remote-embedder';
import { BeyondJobsShare, guessedTokens, type TokenBudget } from './token-budget';
import { type VectorCache, vectorDigest } from './vector-cache';

/** Vectors that are looked for on the disk at once. */
const LOOKUPS_AT_ONCE = 32;

/** A model of a provider: asked for each text once, as long as the disk has what it answered. */
export class RemoteModel implements EmbeddingModel {
  constructor(
    private readonly options: {
      name: string;
      provider: string;
      /** Code units of a text that are sent. */
      charactersMax: number;
      runner: Pick<RemoteEmbedder, 'dim' | 'probe'>;
      dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'close'>;
      cache: VectorCache | null;
      budget: Pick<TokenBudget, 'ofJob'>;
      observer: RemoteObserver;
    },
  ) {}

  get name(): string {
    return this.options.name;
  }

  get dim(): number {
    return this.options.runner.dim;
  }

  /** Of the vectors that it makes now. Errors: as embed. */
  probe(): Promise<number> {
    return this.options.runner.probe();
  }

  async embed(texts: string[], { kind, prefix = '', isOfJob, onCut }: EmbedOptions): Promise<Float32Array[]> {
    const { charactersMax, provider, dispatcher, cache, observer } = this.options;
    const sent = texts.map((text, index) => {
      const left = prefix.length + text.length - charactersMax;
      if (left > 0) onCut?.({ index, read: charactersMax, left, unit: 'characters', isMore: false });
      return (prefix + text).slice(0, charactersMax).toWellFormed();
    });
    const vectors = new Map<string, Float32Array | null>(sent.map((text) => [text, null]));
    const digests = cache === null ? null : await inSlices(digestsOf(vectors.keys()));
    if (cache !== null) {
      const keys = [...vectors.keys()];
      for (let at = 0; at < keys.length; at += LOOKUPS_AT_ONCE)
        await Promise.all(
          keys
            .slice(at, at + LOOKUPS_AT_ONCE)
            .map(async (text) => vectors.set(text, await this.kept(digests!.get(text)!))),
        );
    }
    const missing = [...vectors].filter(([, vector]) => vector === null).map(([text]) => text);
    if (vectors.size > missing.length) observer.cached(provider, vectors.size - missing.length);
    const make = (some: string[]): Promise<Float32Array[]> => dispatcher.embed(some, laneOf({ kind, isOfJob }));
    const made = await (isOfJob === true && missing.length > 0 ? this.madeOfJob(missing, make) : make(missing));
    missing.forEach((text, i) => vectors.set(text, made[i]));
    // Who gets a vector may change it, so a text that comes twice has one for each.
    const given = new Set<string>();
    return sent.map((text) => {
      const vector = vectors.get(text)!;
      if (vectors.size === sent.length || !given.has(text)) {
        given.add(text);
        return vector;
      }
      return vector.slice();
    });
  }

  /** Where all of them are beyond what is left for jobs, the first ones may not be: they are kept then. */
  private async madeOfJob(texts: string[], make: (some: string[]) => Promise<Float32Array[]>): Promise<Float32Array[]> {
    try {
      return await this.options.budget.ofJob(guessedTokens(texts), () => make(texts));
    } catch (error) {
      if (!(error instanceof BeyondJobsShare) || texts.length === 1) throw error;
      const middle = Math.ceil(texts.length / 2);
      const first = await this.madeOfJob(texts.slice(0, middle), make);
      return [...first, ...(await this.madeOfJob(texts.slice(middle), make))];
    }
  }

  /** Resolves when the disk has all that was made. */
  async written(): Promise<void> {
    await this.options.cache?.written();
  }

  async close(): Promise<void> {
    await this.options.dispatcher.close();
    await this.options.cache?.close();
  }

  /** One of another length is of before the model was changed. */
  private async kept(digest: Buffer): Promise<Float32Array | null> {
    const vector = await this.options.cache!.get(digest);
    return vector === null || vector.length !== this.dim ? null : vector;
  }
}

/** In steps: a thousand long texts take a tenth of a second. */
function* digestsOf(texts: Iterable<string>): Generator<undefined, Map<string, Buffer>> {
  const digests = new Map<string, Buffer>();
  for (const text of texts) {
    digests.set(text, vectorDigest(text));
    yield;
  }
  return digests;
}
