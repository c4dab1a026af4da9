import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { inTime } from '../../../shared/base/time/deadline';
import type { EmbeddingKind, EmbeddingModel, EmbeddingProvider } from '../../models/embedding-provider';
import type { SetModel } from '../../service/collections/reshard-record';
import { Superseded } from '../driving/owned-entry';
import type { ItemState } from './shard-transfers';
import { TextWindow } from './text-window';

/** Texts of one call of a model, and calls at once: the model has the next ones ready. */
const TEXTS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 256 * 1024;
const CALLS_AT_ONCE = 4;
/** A queue of texts that is full is asked again after so long. */
const FULL_MS = 100;
/** However slow a model is. */
const LEAST_PAGE_ITEMS = 16;

/** Whether an item has a text that a vector can be made of. */
export function hasText({ text }: { text: string | null }): boolean {
  return text !== null && text.trim() !== '';
}

/** Gives items vectors of their texts. */
export class ItemEmbedder {
  /** By what the vectors are of. */
  private readonly windows = new Map<string, TextWindow>();

  constructor(
    private readonly parts: {
      embedding: Pick<EmbeddingProvider, 'modelFor'>;
      clock: Pick<Clock, 'monotonicMs'>;
    },
  ) {}

  /**
   * The items with vectors of this model. One without a text, or whose text the model does not take, is as if it were
   * gone if it `drops` these. Errors: Superseded once it is to stop; unavailable, also for such an item, or after
   * `untilMs`; those of the model.
   */
  async of(
    model: SetModel,
    states: ItemState[],
    { drops, stop, untilMs = Infinity }: { drops: boolean; stop: AbortSignal; untilMs?: number },
  ): Promise<ItemState[]> {
    const textless = states.find(({ item }) => item !== null && !hasText(item));
    if (textless !== undefined && !drops)
      throw new QuiverError(
        'unavailable',
        `item ${JSON.stringify(textless.externalId)} has no text to make a vector of: give it one, or delete it`,
      );
    const kept = states.map((state) => (state.item === null || hasText(state.item) ? state : { ...state, item: null }));
    const texts = kept.flatMap(({ item }) => (item === null ? [] : [item.text!]));
    const vectors = await this.inTime(this.embedded(model, texts, 'passage', stop), untilMs);
    let next = 0;
    return kept.map(({ externalId, item }) => {
      if (item === null) return { externalId, item };
      const vector = vectors[next++];
      if (vector !== null) return { externalId, item: { ...item, vector } };
      if (drops) return { externalId, item: null };
      throw new QuiverError(
        'unavailable',
        `the embedding model ${model.embeddingModel} does not take the text of item ${JSON.stringify(externalId)}: ` +
          'give it another one, or delete it',
      );
    });
  }

  /** Vectors to search with; null: the model does not take the text. Errors: Superseded; those of the model. */
  queries(model: SetModel, texts: readonly string[], stop: AbortSignal): Promise<(Float32Array | null)[]> {
    return this.embedded(model, texts, 'query', stop);
  }

  /** Items to embed together: so few that no work of long is lost where they have to be embedded again. */
  pageItems(model: SetModel, most: number): number {
    return Math.min(most, Math.max(LEAST_PAGE_ITEMS, this.windowOf(model).texts));
  }

  private windowOf(model: SetModel): TextWindow {
    const key = JSON.stringify(model);
    const window = this.windows.get(key) ?? new TextWindow(this.parts.clock);
    this.windows.set(key, window);
    return window;
  }

  private async inTime<Result>(work: Promise<Result>, untilMs: number): Promise<Result> {
    if (untilMs === Infinity) return work;
    const late = (): QuiverError => new QuiverError('unavailable', 'texts are embedded too slowly while clients wait');
    return inTime(work, Math.max(0, untilMs - this.parts.clock.monotonicMs()), late);
  }

  /** null: the model does not take this text, though it takes others. */
  private async embedded(
    of: SetModel,
    texts: readonly string[],
    kind: EmbeddingKind,
    stop: AbortSignal,
  ): Promise<(Float32Array | null)[]> {
    if (texts.length === 0) return [];
    const vectors: (Float32Array | null)[] = new Array<null>(texts.length).fill(null);
    const model = await this.modelOf(of);
    const window = this.windowOf(of);
    let hasFailed = false;
    const call = (some: readonly string[]): Promise<Float32Array[]> =>
      window.during(some.length, () => this.call(() => model.embed([...some], { dim: of.dim, kind }), stop));
    const make = async (from: number, to: number): Promise<void> => {
      try {
        const made = await call(texts.slice(from, to));
        made.forEach((vector, i) => (vectors[from + i] = vector));
      } catch (error) {
        if (!isModelFailure(error)) throw error;
        // One text may be what it does not take. Where it takes none, that is nothing of these texts. It is a text that
        // nobody has the vector of.
        await call([randomUUID()]);
        if (to - from === 1) return;
        const middle = Math.ceil((from + to) / 2);
        await make(from, middle);
        await make(middle, to);
      }
    };
    let at = 0;
    const work = async (): Promise<void> => {
      while (at < texts.length && !hasFailed) {
        const from = at;
        const to = endOfBatch(texts, from, Math.min(TEXTS_AT_ONCE, window.texts));
        at = to;
        await make(from, to).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
    if (vectors.some((vector) => vector !== null && vector.length !== of.dim))
      throw new QuiverError('dimension_mismatch', `${model.name} does not make vectors of ${of.dim} numbers any more`);
    return vectors;
  }

  private async modelOf({ dim, embeddingModel, embedding }: SetModel): Promise<EmbeddingModel> {
    const model = await waitedFor(this.parts.embedding.modelFor({ embeddingModel, embedding: embedding ?? undefined }));
    if (model.dim !== null && model.dim !== dim)
      throw new QuiverError(
        'dimension_mismatch',
        `the embedding model ${model.name} makes vectors of ${model.dim} numbers, and the new shards hold ${dim}`,
      );
    return model;
  }

  private async call<Result>(run: () => Promise<Result>, stop: AbortSignal): Promise<Result> {
    for (;;) {
      if (stop.aborted) throw new Superseded('texts are not to be embedded any more');
      try {
        return await waitedFor(run());
      } catch (error) {
        // Others have their turn first.
        if (!isQuiverError(error) || error.kind !== 'overloaded') throw error;
        await sleep(FULL_MS, undefined, { signal: stop }).catch(() => undefined);
      }
    }
  }
}

/** A model that can't be had now may be had later, or by another coordinator. */
function waitedFor<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (!isQuiverError(error) || error.kind !== 'embedding_unavailable') throw error;
    throw new QuiverError('unavailable', error.message, { cause: error });
  });
}

/** Whether it is what a model says of itself or of a text, and would say again. */
export function isModelFailure(error: unknown): boolean {
  const cause = isQuiverError(error) ? error.cause : undefined;
  return isQuiverError(cause) && cause.kind === 'embedding_unavailable';
}

/** Where the texts end that are embedded in one call with the one at `from`. */
function endOfBatch(texts: readonly string[], from: number, most: number): number {
  let characters = texts[from].length;
  let to = from + 1;
  while (to < texts.length && to - from < most && characters + texts[to].length <= CHARACTERS_AT_ONCE) {
    characters += texts[to].length;
    to += 1;
  }
  return to;
}
