import { shownFields } from '../../../shared/contract/shard/keyword-fields';
import { type CollectionEmbedding, embeddingKey } from '../../models/collection-embedding';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  collectionFromEntry,
  type CollectionRecord,
  collectionToValue,
  defaultMinInSync,
} from '../../service/collections/collection-record';
import { reshardFromEntry, reshardPath } from '../../service/collections/reshard-record';
import { mustNotBeUnderWay, type ReshardRequests } from '../reshard/reshard-requests';
import type { NewRestore } from '../../service/service';
import type { RestoredCollection } from '../backup/backup-record';

/** What a collection and what is restored into it must have in common: it is in the items, or in the indexes. */
const COMMON = [
  ['dim', 'dim'],
  ['metric', 'distance_metric'],
  ['language', 'language'],
  ['quantization', 'quantization'],
] as const;

export interface TakenNamesParts {
  store: ClusterStore;
  reshards: Pick<ReshardRequests, 'mustBeEmpty'>;
}

/**
 * What is restored into the collection that has its name already, if that is empty. Then it keeps its own settings.
 * Errors: already_exists; dimension_mismatch or invalid_parameter where the settings do not agree; unavailable.
 */
export async function intoExisting(
  { store, reshards }: TakenNamesParts,
  present: CollectionRecord,
  wanted: RestoredCollection,
  input: Pick<NewRestore, 'shards' | 'replicas'>,
): Promise<RestoredCollection> {
  const before = collectionFromEntry({ key: '', value: wanted.record });
  const { name } = present;
  const advice = `give "${wanted.from}" another name with rename, or delete it first`;
  if (present.state !== 'ready')
    throw new QuiverError('already_exists', `collection "${name}" is being created or restored: ${advice}`);
  await reshards.mustBeEmpty(present).catch((error: unknown) => {
    if (!isQuiverError(error) || error.kind !== 'conflict') throw error;
    throw new QuiverError('already_exists', `collection "${name}" already exists, and is not empty: ${advice}`, {
      cause: error,
    });
  });
  mustAgree(present, before, wanted.from);
  const found = await store.get(reshardPath(present.identity));
  mustNotBeUnderWay(found === null ? null : reshardFromEntry(found));
  const replicas = input.replicas ?? present.replicas;
  const record: CollectionRecord = {
    ...present,
    uid: before.uid,
    shards: input.shards ?? present.shards,
    replicas,
    minInSync: replicas === present.replicas ? present.minInSync : defaultMinInSync(replicas),
    embeddingModel: present.embeddingModel ?? before.embeddingModel,
    // The backup's: whether the collection has its own is seen when its new shards take over.
    synonyms: before.synonyms,
    stopWords: before.stopWords,
    state: 'creating',
  };
  return { ...wanted, record: collectionToValue(record), into: { begun: false } };
}

/** Errors: dimension_mismatch; invalid_parameter. Each names all that differs. */
export function mustAgree(present: CollectionRecord, before: CollectionRecord, from: string): void {
  const differing: string[] = COMMON.filter(([field]) => present[field] !== before[field]).map(
    ([field, name]) => `${name} ${shown(present[field])} and not ${shown(before[field])}`,
  );
  if (JSON.stringify(present.keywordFields) !== JSON.stringify(before.keywordFields))
    differing.push(`keyword_fields ${fieldsOf(present)} and not ${fieldsOf(before)}`);
  const { embeddingModel: model } = present;
  if (model !== null && before.embeddingModel !== null && model !== before.embeddingModel)
    differing.push(`embedding_model ${shown(model)} and not ${shown(before.embeddingModel)}`);
  // The key is that of a model: what it is given of an item is told apart as well, for it is in the vectors.
  else if (
    embeddingKey(present.embedding) !== embeddingKey(before.embedding) ||
    present.embedding?.template !== before.embedding?.template
  )
    differing.push(`embedding ${embeddingText(present.embedding)} and not ${embeddingText(before.embedding)}`);
  if (differing.length === 0) return;
  const kind = present.dim === before.dim ? 'invalid_parameter' : 'dimension_mismatch';
  throw new QuiverError(
    kind,
    `collection "${present.name}" is not like "${from}" in the backup: it has ${differing.join(', ')}; restore under another name with rename, or delete it first`,
  );
}

function shown(value: string | number | null): string {
  return value === null ? 'none' : String(value);
}

function embeddingText(embedding: CollectionEmbedding | undefined): string {
  return embedding === undefined ? 'none' : JSON.stringify(embedding);
}

function fieldsOf({ keywordFields }: CollectionRecord): string {
  return shown(keywordFields === undefined ? null : shownFields(keywordFields, ','));
}
