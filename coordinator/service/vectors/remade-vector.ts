import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import { mergedObject } from '../../../shared/contract/writes/merged-object';
import { PassageTemplate } from '../../models/passage-template';
import { scoreOf } from '../../../shared/contract/vector/metric';
import type { CollectionEmbedder, PassageVectors } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import type { KeptVector, VectorPatch } from '../service';
import { passageless } from './passages';
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
  /** What `embedded` was made of, where that is more than the text. */
  passage?: string | undefined;
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
  static concerns(
    { embeddingModel, embedding }: Pick<CollectionRecord, 'embeddingModel' | 'embedding'>,
    { vector, text, metadata, embeds }: VectorPatch,
  ): boolean {
    if (vector !== undefined) return false;
    if (text !== undefined) return embeds ?? embeddingModel !== null;
    return metadata !== undefined && embeds !== false && PassageTemplate.of(embedding)?.isTouchedBy(metadata) === true;
  }

  /**
   * `isBound`: whether the patch is stored only beside what is looked at here. Errors: not_found, invalid_parameter;
   * dimension_mismatch, embedding_unavailable.
   */
  async of(
    collection: CollectionRecord,
    patch: VectorPatch,
    call: CallOptions,
    isBound = true,
  ): Promise<PatchedVector> {
    const { text, vector, embeds } = patch;
    const template = PassageTemplate.of(collection.embedding);
    if (template !== null && RemadeVectors.concerns(collection, patch))
      return this.byTemplate(template, collection, patch, { call, isBound });
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
    const stored = await this.stored(collection, externalId, call);
    return this.remade(collection, stored, { former: stored.text, present: text });
  }

  /** As `asBefore`, of what the template makes of the item before and after. */
  private async byTemplate(
    template: PassageTemplate,
    collection: CollectionRecord,
    { externalId, text, metadata, embeds }: VectorPatch,
    { call, isBound }: { call: CallOptions; isBound: boolean },
  ): Promise<PatchedVector> {
    const stored = await this.stored(collection, externalId, call);
    const { version } = stored;
    const former = template.passageOf(stored);
    const present = template.passageOf({
      text: text ?? stored.text,
      metadata: metadata === undefined ? stored.metadata : patched(stored.metadata, metadata),
    });
    // Nobody who changes metadata alone is told of vectors.
    const told = (kept: KeptVector): KeptVector | null => (text === undefined ? null : kept);
    if (present === null) {
      // As an upsert without a text and without fields: a vector of what is not there any more would stay.
      if (embeds === true || (former !== null && (await this.isMadeOf(collection, former, stored))))
        throw passageless(template, externalId);
      return { embedded: null, kept: told('blank'), version };
    }
    if (embeds === true) {
      const embedded = await this.parts.embedder.embedPassages(collection, [present]);
      return { embedded, kept: null, version, passage: present };
    }
    // Where others may write in between, what is the same now need not be the same then.
    if (former === present && text === undefined && isBound) return { embedded: null, kept: null, version };
    const remade = await this.remade(collection, stored, { former, present });
    // But for the first field that such an item gets: it might be thought to be in the vector.
    const kept = former === null ? remade.kept : remade.kept && told(remade.kept);
    return { ...remade, kept, passage: present };
  }

  private async isMadeOf(
    collection: CollectionRecord,
    passage: string,
    { vector }: { vector: Float32Array },
  ): Promise<boolean> {
    const { vectors } = await this.parts.embedder.embedPassages(collection, [passage]);
    return isSame(vectors[0], vector);
  }

  private async remade(
    collection: CollectionRecord,
    { version, vector }: StoredItem & { vector: Float32Array },
    { former, present: text }: { former: string | null; present: string },
  ): Promise<PatchedVector> {
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

/** Whether a vector that is stored is one that was made. */
export function isSame(made: Float32Array, stored: Float32Array): boolean {
  return made.every((value, i) => value === stored[i]) || scoreOf('cosine', made, stored) >= SAME_COSINE;
}

function patched(metadata: string, { json, replaces }: NonNullable<VectorPatch['metadata']>): string {
  if (replaces) return json;
  return JSON.stringify(mergedObject(JSON.parse(metadata) as JsonObject, JSON.parse(json) as JsonObject));
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
