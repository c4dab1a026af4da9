import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { inTime } from '../../../shared/base/time/deadline';
import type { EmbeddingKind, EmbeddingModel, EmbeddingProvider } from '../../models/embedding-provider';
import type { SetModel } from '../../service/collections/reshard-record';
import type { ItemState } from './shard-transfers';

/** Texts of one call of a model, and calls at once: the model has the next ones ready. */
const TEXTS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 256 * 1024;
const CALLS_AT_ONCE = 4;
/** A queue of texts that is full is asked again after so long. */
const FULL_MS = 100;

/** Whether an item has a text that a vector can be made of. */
export function hasText({ text }: { text: string | null }): boolean {
  return text !== null && text.trim() !== '';
}

/** Gives items vectors of their texts. */
export class ItemEmbedder {
  constructor(
    private readonly parts: {
      embedding: Pick<EmbeddingProvider, 'modelFor'>;
      clock: Pick<Clock, 'monotonicMs'>;
    },
  ) {}

  /**
   * The items with vectors of this model. One without a text is as if it were gone if it `drops` these. Errors:
   * unavailable, also for an item without a text, or after `untilMs`; those of the model.
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
    return kept.map(({ externalId, item }) => ({
      externalId,
      item: item === null ? null : { ...item, vector: vectors[next++] },
    }));
  }

  /** Vectors to search with. Errors: those of the model. */
  queries(model: SetModel, texts: readonly string[], stop: AbortSignal): Promise<Float32Array[]> {
    return this.embedded(model, texts, 'query', stop);
  }

  private async inTime<Result>(work: Promise<Result>, untilMs: number): Promise<Result> {
    if (untilMs === Infinity) return work;
    const late = (): QuiverError => new QuiverError('unavailable', 'texts are embedded too slowly while clients wait');
    return inTime(work, Math.max(0, untilMs - this.parts.clock.monotonicMs()), late);
  }

  private async embedded(
    of: SetModel,
    texts: readonly string[],
    kind: EmbeddingKind,
    stop: AbortSignal,
  ): Promise<Float32Array[]> {
    if (texts.length === 0) return [];
    const vectors: Float32Array[] = new Array(texts.length);
    const model = await this.modelOf(of);
    const batches = batchesOf(texts);
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        const { from, to } = batch;
        const made = await this.call(() => model.embed(texts.slice(from, to), { dim: of.dim, kind }), stop);
        made.forEach((vector, i) => (vectors[from + i] = vector));
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
    if (vectors.some(({ length }) => length !== of.dim))
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
      stop.throwIfAborted();
      try {
        return await waitedFor(run());
      } catch (error) {
        // Others have their turn first.
        if (!isQuiverError(error) || error.kind !== 'overloaded') throw error;
        await sleep(FULL_MS, undefined, { signal: stop });
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

/** Places of texts that are embedded in one call. */
function batchesOf(texts: readonly string[]): { from: number; to: number }[] {
  const batches: { from: number; to: number }[] = [];
  let characters = Infinity;
  texts.forEach(({ length }, i) => {
    const last = batches.at(-1);
    if (last === undefined || last.to - last.from === TEXTS_AT_ONCE || characters + length > CHARACTERS_AT_ONCE) {
      batches.push({ from: i, to: i + 1 });
      characters = length;
    } else {
      last.to = i + 1;
      characters += length;
    }
  });
  return batches;
}
