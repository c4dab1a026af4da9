import { z } from 'zod';
import { itemText, optional, withDefault } from '../fields/fields';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';

export function analysisBody(limits: HttpLimits) {
  return z.object({
    text: itemText(limits.textBytesMax),
    as: withDefault(z.enum(['document', 'query']), 'document').meta({
      description:
        'document: all terms, as they are stored. query: those that are looked for, each once; no stop words if there are others. Of scripts without spaces, pairs are stored, and in some languages words are looked for.',
    }),
    field: optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
      description: 'Cut as this one of the keyword_fields is. Default: by the language of the collection.',
    }),
  });
}

export const analysisAnswer = z.object({
  analyser: z.string(),
  version: z.int().meta({ description: 'Rises when some text gives other terms than before.' }),
  language: z.string().nullable(),
  terms: z
    .array(
      z.object({
        term: z.string(),
        start: z.int(),
        end: z.int(),
        stop_word: z.boolean().meta({ description: 'Queries leave it out if they have other words.' }),
      }),
    )
    .meta({
      description:
        'In the order of the text. start and end are UTF-16 code units of the text as it was sent, end the first behind the word. Terms may overlap.',
    }),
  synonyms: z
    .array(z.object({ start: z.int(), end: z.int(), meanings: z.array(z.string()) }))
    .optional()
    .meta({ description: 'Of a query of a collection with synonyms: words that mean others, too.' }),
});
