import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { TextFailure } from '../../models/transformers/model-failure';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { CollectionRecord } from '../../service/collections/collection-record';
import { endOfBatch, TEXTS_AT_ONCE } from '../driving/text-batches';
import { retried } from './passing-errors';

/** The model has the next ones ready. */
const CALLS_AT_ONCE = 2;
/** A call that takes less lets the next ones have more texts again. */
const QUICK_MS = 5_000;
/** A queue of texts that is full is asked again after so long. */
const FULL_MS = 100;
/** After so long, the document rests: a provider may take nothing for hours, and others have their turn meanwhile. */
const FULL_LONGEST_MS = 5_000;

const OF_JOB = { isOfJob: true };

/** Vectors of texts, and whether one of these is longer than the model reads. */
interface MadeVectors {
  vectors: Float32Array[];
  isLong: boolean;
}

/** Makes vectors of the texts of documents, however slow or broken a model is for a while. */
export class DocumentEmbedder {
  /** Texts of one call, by model, where these are fewer than there may be. */
  private readonly most = new Map<string, number>();

  constructor(
    private readonly parts: {
      embedder: Pick<CollectionEmbedder, 'embedPassages' | 'settle'>;
      clock: Pick<Clock, 'monotonicMs'>;
    },
  ) {}

  /**
   * Tells `onMade` of the vectors as they come, and whether one of the texts is longer than the model reads. After an
   * error no further call begins; those that are under way still tell of theirs. Errors: TextFailure where a text is
   * one that the model does not take, though it takes others; those of the model and the collection.
   */
  async embed(
    collection: CollectionRecord,
    texts: readonly string[],
    onMade: (texts: readonly string[], made: MadeVectors) => void,
    stop: AbortSignal,
  ): Promise<void> {
    let at = 0;
    let hasFailed = false;
    const work = async (): Promise<void> => {
      while (at < texts.length && !hasFailed) {
        const from = at;
        at = endOfBatch(texts, from, this.mostOf(modelKey(collection)));
        const batch = texts.slice(from, at);
        onMade(batch, await this.believed(collection, batch, stop));
      }
    };
    const noted = (error: unknown): never => {
      hasFailed = true;
      throw error;
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, () => work().catch(noted)));
  }

  /**
   * A provider without credits, and a worker without memory, seem to fail of the text. So before that is believed, the
   * model is asked for a text that nobody has the vector of, and then for these once more.
   */
  private async believed(collection: CollectionRecord, texts: string[], stop: AbortSignal): Promise<MadeVectors> {
    try {
      return await this.sized(collection, texts, stop);
    } catch (error) {
      if (!(error instanceof TextFailure)) throw error;
    }
    const { embedder } = this.parts;
    try {
      await this.patiently(collection, () => embedder.embedPassages(collection, [randomUUID()], OF_JOB), stop);
    } catch (error) {
      throw error instanceof TextFailure ? retried(error) : error;
    }
    return this.sized(collection, texts, stop);
  }

  /** A call that is given up before its model is done would be so each time: the next ones have half of its texts. */
  private async sized(collection: CollectionRecord, texts: string[], stop: AbortSignal): Promise<MadeVectors> {
    const { embedder, clock } = this.parts;
    const key = modelKey(collection);
    const run = async (): Promise<MadeVectors> => {
      const startMs = clock.monotonicMs();
      const { vectors, cut, unsettled } = await embedder.embedPassages(collection, texts, OF_JOB);
      const tookMs = clock.monotonicMs() - startMs;
      if (tookMs < QUICK_MS) this.setMost(key, Math.max(this.mostOf(key), 2 * texts.length));
      const others = unsettled === null ? null : await embedder.settle(collection, unsettled, texts);
      return { vectors: others ?? vectors, isLong: cut.length > 0 };
    };
    try {
      return await this.patiently(collection, run, stop);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'unavailable')
        this.setMost(key, Math.min(this.mostOf(key), Math.max(1, Math.floor(texts.length / 2))));
      throw error;
    }
  }

  private async patiently<Result>(
    { embeddingModel }: CollectionRecord,
    run: () => Promise<Result>,
    stop: AbortSignal,
  ): Promise<Result> {
    const { clock } = this.parts;
    const untilMs = clock.monotonicMs() + FULL_LONGEST_MS;
    for (;;) {
      stop.throwIfAborted();
      try {
        return await run();
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        // Its model made vectors of its length once: it is configured otherwise now, and that may pass.
        if (error.kind === 'dimension_mismatch' && embeddingModel !== null) throw retried(error);
        // Others have their turn first.
        if (error.kind !== 'overloaded' || clock.monotonicMs() >= untilMs) throw error;
        await sleep(FULL_MS, undefined, { signal: stop });
      }
    }
  }

  private mostOf(key: string): number {
    return this.most.get(key) ?? TEXTS_AT_ONCE;
  }

  private setMost(key: string, most: number): void {
    if (most < TEXTS_AT_ONCE) this.most.set(key, most);
    else this.most.delete(key);
  }
}

function modelKey({ embeddingModel, embedding }: CollectionRecord): string {
  return JSON.stringify([embeddingModel, embedding]);
}
