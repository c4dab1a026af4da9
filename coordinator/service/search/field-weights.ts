import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { KeywordQuery } from '../keyword-query';
import { collectionNotFound } from '../routing/collection-not-found';

interface Weighted {
  name: string;
  keywordFields?: KeywordFields | undefined;
}

/**
 * The weights that a query gives, with the collection that they are for: where they don't fit what memory knows, as it
 * is in the store, because a PATCH may have changed its fields a moment ago. Errors: as `fieldWeightsOf`; those of
 * `read`.
 */
export async function fittingWeights<Collection extends Weighted & { identity?: string | undefined }>(
  known: Collection,
  keywords: Pick<KeywordQuery, 'fieldWeights'> | undefined,
  read: (name: string) => Promise<Collection>,
): Promise<{ collection: Collection; fieldWeights: number[] | undefined }> {
  try {
    return { collection: known, fieldWeights: fieldWeightsOf(known, keywords) };
  } catch {
    const collection = await read(known.name);
    if (collection.identity !== known.identity) throw collectionNotFound(known.name);
    return { collection, fieldWeights: fieldWeightsOf(collection, keywords) };
  }
}

/**
 * How much each keyword field of a collection counts for a query, in their order; undefined: as indexed. Errors:
 * invalid_parameter for a path that is none of them, or where nothing would count.
 */
export function fieldWeightsOf(
  { name, keywordFields: fields }: Weighted,
  keywords: Pick<KeywordQuery, 'fieldWeights'> | undefined,
): number[] | undefined {
  const asked = keywords?.fieldWeights;
  if (asked === undefined) return undefined;
  if (fields === undefined)
    throw new QuiverError(
      'invalid_parameter',
      `field_weights: collection "${name}" has no keyword_fields; PATCH it with them first`,
    );
  const unknown = Object.keys(asked).find((path) => fields.every((field) => field.path !== path));
  if (unknown !== undefined)
    throw new QuiverError(
      'invalid_parameter',
      `field_weights has ${JSON.stringify(unknown)}, and the keyword_fields of collection "${name}" are ${fields.map(({ path }) => path).join(', ')}`,
    );
  const weights = fields.map(({ path, weight }) => (Object.hasOwn(asked, path) ? asked[path] : weight));
  if (weights.every((weight) => weight === 0))
    throw new QuiverError('invalid_parameter', 'field_weights must leave a field that counts');
  return weights.every((weight, i) => weight === fields[i].weight) ? undefined : weights;
}
