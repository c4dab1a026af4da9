import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { ownTurn } from '../../../shared/base/time/work-slices';
import { inTime } from '../../../shared/base/time/deadline';
import type { EmbeddingKind, EmbeddingModel, EmbeddingProvider } from '../../models/embedding-provider';
import { passageOf, type PassageSource } from '../../models/passage-template';
import { TextFailure } from '../../models/transformers/model-failure';
import type { SetModel } from '../../service/collections/reshard-record';
import { Superseded } from '../driving/owned-entry';
import { endOfBatch, TEXTS_AT_ONCE } from '../driving/text-batches';
import type { ItemState } from './shard-transfers';
import { TextWindow } from './text-window';

/** The model has the next ones ready. */
const CALLS_AT_ONCE = 4;
/** A queue of texts that is full is asked again after so long, and for so long. */
const FULL_MS = 100;
const FULL_MAX_MS = 60_000;
/** However slow a model is. */
const LEAST_PAGE_ITEMS = 16;

/** What a vector of this model is made of; null: an item has nothing of that. */
export function passageIn({ embedding }: Pick<SetModel, 'embedding'>, item: PassageSource): string | null {
  const passage = passageOf(embedding, item);
  return passage === null || passage.trim() === '' ? null : passage;
}

/** The same of each item, in turns: those of a page may have megabytes of metadata. null: also where there is none. */
export async function passagesIn(
  model: Pick<SetModel, 'embedding'>,
  items: readonly (PassageSource | null)[],
): Promise<(string | null)[]> {
  const passages: (string | null)[] = [];
  for (const item of items) {
    const turn = model.embedding?.template === undefined ? undefined : ownTurn();
    if (turn !== undefined) await turn;
    passages.push(item === null ? null : passageIn(model, item));
  }
  return passages;
}

interface ItemEmbedding {
  drops: boolean;
  isAwaited?: boolean;
  stop: AbortSignal;
  untilMs?: number;
}

interface Embedding {
  kind: EmbeddingKind;
  isOfJob: boolean;
  stop: AbortSignal;
  untilMs: number;
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
   * gone if it `drops` these. `isAwaited`: clients wait for them. Errors: Superseded once it is to stop; unavailable,
   * also for such an item, or after `untilMs`; those of the model.
   */
  async of(
    model: SetModel,
    states: ItemState[],
    { drops, isAwaited = false, stop, untilMs = Infinity }: ItemEmbedding,
  ): Promise<ItemState[]> {
    const passages = await passagesIn(
      model,
      states.map(({ item }) => item),
    );
    const textless = states.find(({ item }, i) => item !== null && passages[i] === null);
    if (textless !== undefined && !drops)
      throw new QuiverError(
        'unavailable',
        `item ${JSON.stringify(textless.externalId)} has no ${whatOf(model)} to make a vector of: give it one, or delete it`,
      );
    const texts = passages.filter((passage) => passage !== null);
    const vectors = await this.embedded(model, texts, { kind: 'passage', isOfJob: !isAwaited, stop, untilMs });
    let next = 0;
    return states.map(({ externalId, item }, i) => {
      if (item === null || passages[i] === null) return { externalId, item: null };
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
    return this.embedded(model, texts, { kind: 'query', isOfJob: true, stop, untilMs: Infinity });
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

  /**
   * null: the model does not take this text, though it takes others. Once it ends, however it does, none of its calls
   * waits for anything any more: they would keep others from the model.
   */
  private async embedded(
    of: SetModel,
    texts: readonly string[],
    { stop, untilMs, ...asked }: Embedding,
  ): Promise<(Float32Array | null)[]> {
    if (texts.length === 0) return [];
    const calls = new AbortController();
    const end = (): void => calls.abort();
    stop.addEventListener('abort', end);
    // Of one that is aborted already, nobody tells.
    if (stop.aborted) end();
    try {
      const work = waitedFor(this.made(of, texts, { ...asked, stop: calls.signal, untilMs }));
      return untilMs === Infinity
        ? await work
        : await inTime(work, Math.max(0, untilMs - this.parts.clock.monotonicMs()), late);
    } finally {
      stop.removeEventListener('abort', end);
      calls.abort();
    }
  }

  private async made(
    of: SetModel,
    texts: readonly string[],
    { kind, isOfJob, ...within }: Embedding,
  ): Promise<(Float32Array | null)[]> {
    const vectors: (Float32Array | null)[] = new Array<null>(texts.length).fill(null);
    const model = await this.modelOf(of);
    const window = this.windowOf(of);
    let hasFailed = false;
    const call = (some: readonly string[]): Promise<Float32Array[]> =>
      window.during(
        some.length,
        () => this.call(() => model.embed([...some], { dim: of.dim, kind, isOfJob }), within),
        within.stop,
      );
    /** Whether the model takes these texts; their vectors are kept then. Errors: those that are of no text. */
    const isMade = async (from: number, to: number): Promise<boolean> => {
      try {
        const made = await call(texts.slice(from, to));
        made.forEach((vector, i) => (vectors[from + i] = vector));
        return true;
      } catch (error) {
        if (!(error instanceof TextFailure)) throw error;
        return false;
      }
    };
    const make = async (from: number, to: number): Promise<void> => {
      if (await isMade(from, to)) return;
      // One text may be what it does not take. Where it takes none, that is nothing of these texts. It is a text that
      // nobody has the vector of.
      await call([randomUUID()]);
      if (to - from === 1) {
        // An item goes by this: what was in the way a moment ago may not be any more.
        await isMade(from, to);
        return;
      }
      const middle = Math.ceil((from + to) / 2);
      await make(from, middle);
      await make(middle, to);
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
    const model = await this.parts.embedding.modelFor({ embeddingModel, embedding: embedding ?? undefined });
    if (model.dim !== null && model.dim !== dim)
      throw new QuiverError(
        'dimension_mismatch',
        `the embedding model ${model.name} makes vectors of ${model.dim} numbers, and the new shards hold ${dim}`,
      );
    return model;
  }

  /** Errors: Superseded once it is to stop; unavailable after `untilMs`, or when the queue stays full. */
  private async call<Result>(
    run: () => Promise<Result>,
    { stop, untilMs }: { stop: AbortSignal; untilMs: number },
  ): Promise<Result> {
    const { clock } = this.parts;
    const fullMs = clock.monotonicMs() + FULL_MAX_MS;
    for (;;) {
      if (stop.aborted) throw new Superseded('texts are not to be embedded any more');
      if (clock.monotonicMs() >= untilMs) throw late();
      try {
        return await run();
      } catch (error) {
        if (!isQuiverError(error) || error.kind !== 'overloaded') throw error;
        if (clock.monotonicMs() >= fullMs) throw new QuiverError('unavailable', error.message, { cause: error });
        // Others have their turn first.
        await sleep(FULL_MS, undefined, { signal: stop }).catch(() => undefined);
      }
    }
  }
}

/** What vectors of the model are made of, for people. */
function whatOf({ embedding }: SetModel): string {
  return embedding?.template === undefined ? 'text' : `field of the template ${JSON.stringify(embedding.template)}`;
}

function late(): QuiverError {
  return new QuiverError('unavailable', 'texts are embedded too slowly');
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
