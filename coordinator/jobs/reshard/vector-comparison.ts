import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { passageOf } from '../../models/passage-template';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { Hit } from '../../../shared/contract/shard/shard-read';
import type { Compared, Comparing, SetModel, ShardSet } from '../../service/collections/reshard-record';
import type { JudgedQuery } from '../../service/judgements-service';
import { measuresOf } from '../../service/judgements/measures';
import { mergeHits } from '../../service/search/merge';
import { mergedSample } from '../../service/sampling/merged-sample';
import { obstacleOf } from '../driving/obstacle';
import { Superseded } from '../driving/owned-entry';
import type { ShardTransfers } from './shard-transfers';
import { isModelFailure, type ItemEmbedder } from './item-embedder';

/** Hits of each query that count. */
const HITS = 10;
/** Queries that are asked at once. */
const AT_ONCE = 8;
/** Of every sample, so that a comparison can be repeated. */
const SEED = 1;
/** So long a model of before is waited for that is being loaded, or busy. */
const OLD_MODEL_MS = 60_000;
const OLD_MODEL_PAUSE_MS = 500;

/** A query of both sets. */
interface ComparedQuery {
  text: string;
  /** The item whose text it is: what looks for itself finds itself. */
  ownId: string | null;
  /** Of that item, as it is stored; null: it is nobody's text. */
  vector: Float32Array | null;
  grades: ReadonlyMap<string, number> | null;
}

/** One of the two sets. */
interface Side {
  set: ShardSet;
  model: SetModel;
}

/** Asks the shards of before and the new ones the same queries. */
export class VectorComparison {
  constructor(
    private readonly parts: {
      transfers: ShardTransfers;
      vectors: ItemEmbedder;
      /** Judged queries of the collection. Errors: not_found. */
      judged: (name: string) => Promise<JudgedQuery[]>;
      clock: Pick<Clock, 'monotonicMs'>;
      stop: AbortSignal;
    },
  ) {}

  /**
   * Where the model of before can't be had any more, or the judgements are gone, `problem` says so, and the rest is
   * compared. Errors: Superseded; those of the shards, and of the model of `after`.
   */
  async of(before: Side, after: Side, comparing: Comparing): Promise<Compared> {
    let problem: string | undefined;
    const noted = (error: unknown): void => {
      problem ??= obstacleOf(error);
    };
    const queries = await this.queriesOf(before, after, comparing).catch((error: unknown) => {
      if (!('judged' in comparing) || !isQuiverError(error) || error.kind !== 'not_found') throw error;
      noted(error);
      return [];
    });
    const asked = { compared: 0, overlap: 0, before: 0, after: 0 };
    let isOfTexts = before.model.embeddingModel !== null;
    const found = async (query: ComparedQuery, side: Side, vector: Float32Array | null): Promise<string[]> => {
      if (vector === null) return [];
      // One more than wanted, where the item itself is most likely the best.
      const hits = await this.search(side.set, vector, HITS + (query.ownId === null ? 0 : 1));
      return hits
        .map(({ externalId }) => externalId)
        .filter((externalId) => externalId !== query.ownId)
        .slice(0, HITS);
    };
    const stored = (part: ComparedQuery[]): (Float32Array | null)[] => part.map(({ vector }) => vector);
    for (let at = 0; at < queries.length; at += AT_ONCE) {
      this.mustGoOn();
      const part = queries.slice(at, at + AT_ONCE);
      const texts = part.map(({ text }) => text);
      const made = await this.parts.vectors.queries(after.model, texts, this.parts.stop);
      const old = isOfTexts
        ? await this.oldQueries(before.model, texts).catch((error: unknown) => {
            if (error instanceof Superseded) throw error;
            noted(error);
            isOfTexts = false;
            return stored(part);
          })
        : stored(part);
      await Promise.all(
        part.map(async (query, i) => {
          const vector = old[i];
          const [first, second] = await Promise.all([
            vector === null ? null : found(query, before, vector),
            found(query, after, made[i]),
          ]);
          if (first !== null) {
            asked.compared += 1;
            asked.overlap += overlapOf(first, second);
          }
          if (query.grades === null) return;
          if (first !== null) asked.before += measuresOf(first, query.grades, HITS).ndcg;
          asked.after += measuresOf(second, query.grades, HITS).ndcg;
        }),
      );
    }
    const { length } = queries;
    const isWhole = asked.compared === length && length > 0;
    return {
      queries: length,
      overlap: isWhole ? asked.overlap / length : null,
      ndcg:
        'judged' in comparing && length > 0
          ? { before: isWhole ? asked.before / length : null, after: asked.after / length }
          : null,
      bytes: { before: await this.bytesOf(before.set), after: await this.bytesOf(after.set) },
      ...(problem !== undefined && { problem }),
    };
  }

  /** What may pass is waited for, for a while. Errors: Superseded; those of the model. */
  private async oldQueries(model: SetModel, texts: readonly string[]): Promise<(Float32Array | null)[]> {
    const { clock, stop, vectors } = this.parts;
    const untilMs = clock.monotonicMs() + OLD_MODEL_MS;
    for (;;) {
      try {
        return await vectors.queries(model, texts, stop);
      } catch (error) {
        const isPassing = isQuiverError(error) && error.retryable && !isModelFailure(error);
        if (!isPassing || clock.monotonicMs() >= untilMs) throw error;
      }
      await sleep(OLD_MODEL_PAUSE_MS, undefined, { signal: stop }).catch(() => undefined);
      this.mustGoOn();
    }
  }

  private mustGoOn(): void {
    if (this.parts.stop.aborted) throw new Superseded('nothing is to be compared any more');
  }

  private async queriesOf(before: Side, after: Side, comparing: Comparing): Promise<ComparedQuery[]> {
    if ('judged' in comparing)
      return (await this.parts.judged(comparing.judged)).map(({ query, relevant }) => ({
        text: query,
        ownId: null,
        vector: null,
        grades: relevant,
      }));
    const { transfers } = this.parts;
    const size = comparing.sample;
    const asked = { size, seed: SEED, filter: null };
    const parts = await transfers.readAll(before.set, 'sample', asked);
    const drawn = (await inSlices(mergedSample(parts, size, size))) ?? [];
    const queries: ComparedQuery[] = [];
    for (const { item } of await transfers.statesIn(
      before.set,
      drawn.map(({ externalId }) => externalId),
    ))
      if (item !== null) {
        // Where there are only fields, what the new vector is made of is asked for.
        const text = item.text !== null && item.text.trim() !== '' ? item.text : passageOf(after.model.embedding, item);
        if (text !== null && text.trim() !== '')
          queries.push({ text, ownId: item.externalId, vector: item.vector ?? null, grades: null });
      }
    return queries;
  }

  private async search(set: ShardSet, vector: Float32Array, k: number): Promise<Hit[]> {
    const request = { vector, k, filter: null, effort: { type: 'calibrated' }, texts: false } as const;
    const answers = await this.parts.transfers.readAll(set, 'search', request);
    return mergeHits(
      answers.map(({ hits }) => hits),
      0,
      k,
    );
  }

  private async bytesOf(set: ShardSet): Promise<number> {
    const statuses = await this.parts.transfers.readAll(set, 'status', null);
    return statuses.reduce((sum, { diskBytes }) => sum + diskBytes, 0);
  }
}

/** The share of `first` that is among `second`; 1 where there is nothing to find. */
function overlapOf(first: readonly string[], second: readonly string[]): number {
  if (first.length === 0) return 1;
  const found = new Set(second);
  return first.filter((externalId) => found.has(externalId)).length / first.length;
}
