import type { ReshardRecord } from '../../service/collections/reshard-record';
import { modelNameOf } from '../../models/collection-embedding';
import type { ShardTransfers } from './shard-transfers';
import type { ItemEmbedder } from './item-embedder';
import type { VectorComparison } from './vector-comparison';

/** What it takes to embed the texts of a collection anew. */
export interface Reembedding {
  vectors: ItemEmbedder;
  /** What compares the vectors of a collection of this name. */
  comparison(name: string, transfers: ShardTransfers, stop: AbortSignal): VectorComparison;
}

/** What a job has come to, as its answer has it. */
export function reembedResult({ from, to, startedAt, reembed }: ReshardRecord): Record<string, unknown> {
  const { isBack, compared, dropped, switchedAt, keptUntil, isEnding } = reembed!;
  // Once it has switched, the new vectors are those that clients use.
  const { model } = isBack === true ? from : to;
  const isKept = keptUntil !== undefined && isBack === true && isEnding !== true;
  return {
    model: model!.embedding === null ? model!.embeddingModel : modelNameOf(model!.embedding),
    dim: model!.dim,
    ...(model!.embedding?.template !== undefined && { template: model!.embedding.template }),
    dropped,
    ...(compared !== undefined && {
      queries: compared.queries,
      overlap_at_10: compared.overlap,
      ndcg_at_10: compared.ndcg,
      bytes: compared.bytes,
      ...(compared.problem !== undefined && { problem: compared.problem }),
      ...(compared.warning !== undefined && { warning: compared.warning }),
    }),
    seconds: switchedAt === undefined ? null : Math.round((Date.parse(switchedAt) - Date.parse(startedAt)) / 1000),
    switched_at: switchedAt ?? null,
    kept_until: isKept ? new Date(keptUntil).toISOString() : null,
  };
}
