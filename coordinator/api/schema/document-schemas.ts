import { z } from 'zod';
import { RESERVED_FIELDS } from '../../service/documents/document-facts';
import { DOCUMENT_TYPES } from '../../service/documents/formats/parsed-document';
import { JOB_STATES } from '../../service/jobs-service';
import { ON_EXISTS } from '../../service/service';
import { writeTiming } from '../fields/answer-fields';
import { expiresAt, expiresAtText } from '../fields/expiry';
import {
  collectionName,
  flagText,
  integer,
  integerTextWithDefault,
  metadata,
  optional,
  withDefault,
} from '../fields/fields';
import { report } from '../fields/issue';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';

/** The form's fields beside the file. */
export const uploadFields = z.object({
  collection_name: collectionName,
  include_timing: flagText,
  expires_at: expiresAtText,
});

/** The whole form, for the documentation: the file itself is streamed and never a value. */
export const uploadForm = uploadFields.extend({
  file: z.string().meta({
    format: 'binary',
    contentMediaType: 'text/plain',
    description: 'A UTF-8 .txt file; the fields may come before or after it.',
  }),
});

export const uploadAnswer = z.object({
  document_id: z.uuid(),
  chunks_created: z.int(),
  timing_ms: writeTiming.optional(),
});

const documentKey = z.string().min(1).max(REQUEST_BOUNDS.documentKeyCharactersMax).meta({
  description: 'Your own id of the document, as a path or an address: what has the same one is the same document.',
});

const fingerprint = z
  .string()
  .min(1)
  .max(REQUEST_BOUNDS.fingerprintCharactersMax)
  .meta({
    description:
      'Your own mark of what you send, such as a checksum of the file and its options. The document has it, so that ' +
      'you can tell whether to send it again.',
  });

const chunking = (limits: HttpLimits) =>
  z
    .object({
      strategy: optional(
        z.enum(['sentences', 'headings', 'fixed']).meta({
          description:
            'sentences (default): chunks end at a paragraph, else a sentence, a line, a word; ' +
            'headings: the same within each section; fixed: wherever a chunk is full.',
        }),
      ),
      size: optional(
        integer(16, REQUEST_BOUNDS.chunkSizeMax).meta({
          description: `Longest; default: CHUNK_SIZE (${limits.chunkSize}). None is longer than the model reads.`,
        }),
      ),
      overlap: optional(
        integer(0, REQUEST_BOUNDS.chunkSizeMax / 2).meta({
          description:
            'About how much of its end a chunk shares with the next; more than half of `size` counts as half.',
        }),
      ),
      unit: optional(
        z
          .enum(['characters', 'tokens'])
          .meta({ description: 'Of size and overlap; tokens of the collection’s model.' }),
      ),
    })
    .meta({ id: 'Chunking' });

const onExists = z.enum(ON_EXISTS).meta({
  description:
    'What to do with a document of that key that is there: `replace` it, `skip` this one, or answer an `error` (409).',
});

/** What each chunk gets, as JSON. */
const documentMetadata = (limits: HttpLimits) =>
  metadata({
    ...limits,
    metadataBytesMax: Math.min(limits.metadataBytesMax, REQUEST_BOUNDS.documentMetadataBytesMax),
  }).superRefine((text, context) => {
    const taken = RESERVED_FIELDS.filter((name) => Object.hasOwn(JSON.parse(text) as object, name));
    if (taken.length > 0)
      report(context, text, `may not have ${taken.join(', ')}: the service sets them`, { kind: 'invalid_parameter' });
  });

const waitMeaning = `Answer once the job is over, or after ${REQUEST_BOUNDS.documentWaitMs / 1000} s as it is then.`;
const textMeaning = 'Have each chunk’s text in its metadata, too, under `text`, as uploads have it.';

/** JSON in the field of a form; an empty field counts as left out. */
function jsonText<S extends z.ZodType>(schema: S) {
  return z.preprocess((value, context) => {
    if (value === undefined || value === '') return undefined;
    try {
      return JSON.parse(value as string) as unknown;
    } catch {
      report(context, value, 'must be JSON');
      return z.NEVER;
    }
  }, schema.optional());
}

const emptyAsAbsent = <S extends z.ZodType>(schema: S) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

/** The fields of a document's form beside the file. */
export const documentFields = (limits: HttpLimits) =>
  z.object({
    collection_name: collectionName,
    document_key: emptyAsAbsent(documentKey),
    metadata: jsonText(documentMetadata(limits)).meta({ description: 'JSON of an object: metadata of each chunk.' }),
    chunking: jsonText(chunking(limits)).meta({ description: 'JSON as in a body.' }),
    on_exists: emptyAsAbsent(onExists),
    expires_at: expiresAtText,
    fingerprint: emptyAsAbsent(fingerprint),
    text_in_metadata: flagText.meta({ description: textMeaning }),
    wait: flagText.meta({ description: waitMeaning }),
  });

export const documentForm = (limits: HttpLimits) =>
  documentFields(limits).extend({
    file: z.string().meta({
      format: 'binary',
      description: `A file of one of these types: ${DOCUMENT_TYPES.join(', ')}.`,
    }),
  });

/** A document whose text is in the request. */
export const documentBody = (limits: HttpLimits) =>
  z.object({
    collection_name: collectionName,
    text: z.string().min(1).meta({ description: 'The document; the type of it is `txt` unless `type` says another.' }),
    type: optional(z.enum(['txt', 'md', 'html', 'csv', 'jsonl'])),
    document_key: optional(documentKey),
    metadata: optional(documentMetadata(limits)),
    chunking: optional(chunking(limits)),
    on_exists: optional(onExists),
    expires_at: expiresAt,
    fingerprint: optional(fingerprint),
    text_in_metadata: withDefault(z.boolean(), false).meta({ description: textMeaning }),
    wait: withDefault(z.boolean(), false).meta({ description: waitMeaning }),
  });

export const addedDocument = z.object({
  job_id: z.string().meta({ description: 'GET /v1/jobs/{id} says how far it is.' }),
  document_id: z.uuid(),
  state: z.enum(JOB_STATES),
  error: z.string().nullable().meta({ description: 'Why the job failed; null: it has not.' }),
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ description: 'Once the job is done: `outcome`, `chunks`, and how many texts were `embedded`.' }),
});

export const documentsParameters = z.object({ name: collectionName });
export const documentParameters = z.object({ name: collectionName, document_id: z.string().min(1).max(512) });

export const documentsQuery = z.object({
  limit: integerTextWithDefault(1, 1_000, 100),
  cursor: z
    .string()
    .max(8192)
    .optional()
    .meta({ description: '`next_cursor` of the page before; left out for the first page.' }),
});

const unknownOf = 'null for documents of /v1/documents/upload.';

export const documentAnswer = z
  .object({
    document_id: z.string(),
    document_key: z.string().nullable(),
    source: z.string().meta({ description: 'The name of its file.' }),
    type: z.string().nullable(),
    title: z.string().nullable(),
    pages: z.int().nullable().meta({ description: 'null for formats without pages.' }),
    chunks: z.int().nullable().meta({ description: unknownOf }),
    bytes: z
      .int()
      .nullable()
      .meta({ description: `Of the file; ${unknownOf}` }),
    sha256: z
      .string()
      .nullable()
      .meta({ description: `Of the file; ${unknownOf}` }),
    fingerprint: z.string().nullable().meta({ description: 'As it was given; null: it was not.' }),
    updated_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Document' });

export const documentsAnswer = z.object({ documents: z.array(documentAnswer), next_cursor: z.string().nullable() });
export const documentDeleted = z.object({ document_id: z.string(), deleted_chunks: z.int() });
