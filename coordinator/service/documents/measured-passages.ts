import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { PassageTemplate } from '../../models/passage-template';
import type { CollectionEmbedding } from '../../models/collection-embedding';
import type { MeasureTexts } from './fitted-chunks';

/** A text that hardly takes anything. */
const SHORT = 'a';
/** Of what the model reads, the share that fields may take: chunks of what is left are to say something. */
const FIELDS_SHARE = 1 / 2;

/**
 * As `measure`, of texts of chunks of a collection whose vectors are made of fields as well: what `metadata` of all
 * chunks take of what the model reads is not there for texts. Errors: limit_exceeded when that is more than half;
 * those of `measure`.
 */
export function measuredBeside(
  embedding: CollectionEmbedding | undefined,
  metadata: string,
  measure: MeasureTexts,
): MeasureTexts {
  const template = PassageTemplate.of(embedding);
  if (template === null || !template.hasText) return measure;
  const passage = template.passageOf({ text: SHORT, metadata })!;
  let taken: number | null = null;
  return async (texts) => {
    const measured = await measure(texts);
    if (measured === null) return null;
    if (taken === null) {
      const fields = await measure([passage, SHORT]);
      if (fields === null) return null;
      taken = Math.max(0, fields.lengths[0] - fields.lengths[1]);
    }
    const { lengths, most } = measured;
    if (taken > most * FIELDS_SHARE)
      throw new QuiverError(
        'limit_exceeded',
        `the fields of ${JSON.stringify(template.source)} (embedding.template) take ${taken} of the ${most} tokens that ` +
          'the embedding model reads, and may take half of them beside the text of a document: give it shorter metadata',
      );
    return { lengths, most: most - taken };
  };
}
