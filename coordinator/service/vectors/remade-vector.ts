import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import { scoreOf } from '../../../shared/contract/vector/metric';
import type { CollectionEmbedder, PassageVectors } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import type { KeptVector, VectorPatch } from '../service';
import { vectorNotFound } from './vector-not-found';

/**
 * A model that runs elsewhere, or on several texts at once, makes nearly the same vector again; another text is farther
 * away.
 */
const SAME_COSINE = 0.98;
/** How often a patch is begun again because its item was written meanwhile. */
export const PATCH_ATTEMPTS_MAX = 4;

/** What a patch of a text does with the vector. */
export interface PatchedVector {
  /** Of the new text. null: none was made, and `kept` says why, if somebody should know it. */
  embedded: PassageVectors | null;
  kept: KeptVector | null;
  /** The version of the item that this was decided by; undefined: it holds for any. */
  version?: number | undefined;
}

/** Of a patch without a text, or with a vector of its own. */
export const UNTOUCHED_VECTOR: PatchedVector = { embedded: null, kept: null };

/**
 * Decides whether the vector of an item is made again with its text. Nothing is stored of where a vector came from, so
 * that is looked at: one that is what the collection's model makes of the stored text was made of it.
 */
export class RemadeVectors {
  constructor(
    private readonly parts: {
      embedder: Pick<CollectionEmbedder, 'embedPassages'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
    },
  ) {}

  /** Whether `of` has anything to decide or to make. */
  static concerns({ embeddingModel }: CollectionRecord, { vector, text, embeds }: VectorPatch): boolean {
    return text !== undefined && vector === undefined && (embeds ?? embeddingModel !== null);
  }

  /** Errors: not_found; dimension_mismatch, embedding_unavailable. */
  async of(collection: CollectionRecord, patch: VectorPatch, call: CallOptions): Promise<PatchedVector> {
    const { text, vector, embeds } = patch;
    if (text === undefined || vector !== undefined) return UNTOUCHED_VECTOR;
    if (embeds === true) return { embedded: await this.parts.embedder.embedPassages(collection, [text]), kept: null };
    if (collection.embeddingModel === null) return UNTOUCHED_VECTOR;
    return embeds === false
      ? { embedded: null, kept: 'asked' }
      : this.asBefore(collection, patch.externalId, text, call);
  }

  private async asBefore(
    collection: CollectionRecord,
    externalId: string,
    text: string,
    call: CallOptions,
  ): Promise<PatchedVector> {
    if (isBlank(text)) return { embedded: null, kept: 'blank' };
    const { version, vector, text: former } = await this.stored(collection, externalId, call);
    if (former === null || isBlank(former)) return { embedded: null, kept: 'given', version };
    const texts = former === text ? [text] : [former, text];
    const { vectors, cut, unsettled } = await this.parts.embedder.embedPassages(collection, texts);
    if (!isSame(vectors[0], vector)) return { embedded: null, kept: 'given', version };
    const last = texts.length - 1;
    return {
      embedded: { vectors: vectors.slice(last), cut: cut.filter(({ index }) => index === last), unsettled },
      kept: null,
      version,
    };
  }

  private async stored(
    collection: CollectionRecord,
    externalId: string,
    call: CallOptions,
  ): Promise<StoredItem & { vector: Float32Array }> {
    const { shards, scatter, sets } = this.parts;
    const [[item]] = await sets.ofModel(collection, call, (current) =>
      scatter.read(current, [shardOf(externalId, current.shards)], call, (id) =>
        shards.read(id, 'fetch', { externalIds: [externalId], vectors: true, versions: true }, call),
      ),
    );
    if (item === null) throw vectorNotFound(collection.name, externalId);
    return item as StoredItem & { vector: Float32Array };
  }
}

/** Whether a patch is to be begun again: what it was decided by is not there any more. */
export function isOvertaken(error: unknown): boolean {
  return isQuiverError(error) && error.kind === 'conflict';
}

function isSame(made: Float32Array, stored: Float32Array): boolean {
  return made.every((value, i) => value === stored[i]) || scoreOf('cosine', made, stored) >= SAME_COSINE;
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
