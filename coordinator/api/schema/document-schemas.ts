import { z } from 'zod';
import { writeTiming } from '../fields/answer-fields';
import { expiresAtText } from '../fields/expiry';
import { collectionName, flagText } from '../fields/fields';

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
