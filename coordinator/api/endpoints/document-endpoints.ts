import { writerOf } from '../../service/keys/caller';
import type { DocumentsService } from '../../service/service';
import { timingMember } from '../answers/answer-json';
import { defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import type { HttpLimits } from '../requests/http-limits';
import * as schemas from '../schema/document-schemas';
import { openUploadForm } from '../requests/upload-form';

export function documentEndpoints(parts: { documents: DocumentsService; limits: HttpLimits }): Endpoint[] {
  const { documents, limits } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/documents/upload',
      access: 'readwrite',
      collections: { type: 'form' },
      tag: 'Documents',
      summary: 'Upload a .txt file: it is split, embedded and stored',
      description:
        'The file is cut, embedded and stored as it arrives (most quickly with collection_name before it), all or nothing: what was stored of an upload that fails, ' +
        'or whose client goes away, is deleted again. Chunks are stored as <document_id>-chunk-<n>, counted from 0, with document_id, chunk_index, source and text as metadata.',
      body: { type: 'form', schema: schemas.uploadForm },
      answer: { type: 'data', schema: schemas.uploadAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ request, key, use, streamed, warnings }) => {
        const form = await openUploadForm(request, limits, warnings);
        try {
          const collection = await use(form.fields().collection_name);
          const once = streamed(JSON.stringify([form.fields().collection_name, form.file.name]));
          const file = { ...form.file, expiresAt: () => form.fields().expires_at };
          const { documentId, chunksCreated, timing, isRepeated } = await documents.upload(
            collection,
            file,
            once?.dedup,
            writerOf(key),
          );
          if (isRepeated === true) once?.repeated();
          const head = `"document_id":${JSON.stringify(documentId)},"chunks_created":${chunksCreated}`;
          return { type: 'data', json: `{${head}${timingMember(timing, form.fields().include_timing)}}` };
        } finally {
          await form.close();
        }
      },
    }),
  ];
}
