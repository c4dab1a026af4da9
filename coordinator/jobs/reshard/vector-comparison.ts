import { inSlices } from '../../../shared/base/time/work-slices';
import { compareHits, type Hit } from '../../../shared/contract/shard/shard-read';
import type { Compared, Comparing, SetModel, ShardSet } from '../../service/collections/reshard-record';
import type { JudgedQuery } from '../../service/judgements-service';
import { measuresOf } from '../../service/judgements/measures';
import { mergedSample } from '../../service/sampling/merged-sample';
import type { ShardTransfers } from './shard-transfers';
import { hasText, type ItemEmbedder } from './item-embedder';

/** Hits of each query that count. */
const HITS = 10;
/** Queries that are asked at once. */
const AT_ONCE = 8;
/** Of every sample, so that a comparison can be repeated. */
const SEED = 1;

/** A query of both sets. */
interface ComparedQuery {
  text: string;
  /** The item whose text it is: what looks for itself finds itself. */
  ownId: string | null;
  /** Of that item; null: its vector is made of the text. */
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
      stop: AbortSignal;
    },
  ) {}

  /** Errors: those of the shards, and of the models. */
  async of(before: Side, after: Side, comparing: Comparing): Promise<Compared> {
    const queries = await this.queriesOf(before, comparing);
    const asked = { overlap: 0, before: 0, after: 0, judged: 0 };
    const isOfTexts = before.model.embeddingModel !== null;
    const found = async (query: ComparedQuery, side: Side, vector: Float32Array): Promise<string[]> => {
      // One more than wanted, where the item itself is most likely the best.
      const hits = await this.search(side.set, vector, HITS + (query.ownId === null ? 0 : 1));
      return hits
        .map(({ externalId }) => externalId)
        .filter((externalId) => externalId !== query.ownId)
        .slice(0, HITS);
    };
    for (let at = 0; at < queries.length; at += AT_ONCE) {
      this.parts.stop.throwIfAborted();
      const part = queries.slice(at, at + AT_ONCE);
      const texts = part.map(({ text }) => text);
      const [old, made] = await Promise.all([
        isOfTexts ? this.parts.vectors.queries(before.model, texts, this.parts.stop) : part.map(({ vector }) => vector),
        this.parts.vectors.queries(after.model, texts, this.parts.stop),
      ]);
      await Promise.all(
        part.map(async (query, i) => {
          const vector = old[i];
          const [first, second] = await Promise.all([
            vector === null ? null : found(query, before, vector),
            found(query, after, made[i]),
          ]);
          if (first !== null) asked.overlap += overlapOf(first, second);
          if (query.grades === null) return;
          asked.judged += 1;
          if (first !== null) asked.before += measuresOf(first, query.grades, HITS).ndcg;
          asked.after += measuresOf(second, query.grades, HITS).ndcg;
        }),
      );
    }
    const { length } = queries;
    const isCompared = length > 0 && (isOfTexts || queries.every(({ vector }) => vector !== null));
    const { judged } = asked;
    return {
      queries: length,
      overlap: isCompared ? asked.overlap / length : null,
      ndcg: judged === 0 ? null : { before: isOfTexts ? asked.before / judged : null, after: asked.after / judged },
      bytes: { before: await this.bytesOf(before.set), after: await this.bytesOf(after.set) },
    };
  }

  private async queriesOf(before: Side, comparing: Comparing): Promise<ComparedQuery[]> {
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
      if (item !== null && hasText(item))
        queries.push({
          text: item.text!,
          ownId: item.externalId,
          vector: before.model.embeddingModel === null ? (item.vector ?? null) : null,
          grades: null,
        });
    return queries;
  }

  private async search(set: ShardSet, vector: Float32Array, k: number): Promise<Hit[]> {
    const request = { vector, k, filter: null, effort: { type: 'calibrated' }, texts: false } as const;
    const answers = await this.parts.transfers.readAll(set, 'search', request);
    return answers
      .flatMap(({ hits }) => hits)
      .sort(compareHits)
      .slice(0, k);
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
