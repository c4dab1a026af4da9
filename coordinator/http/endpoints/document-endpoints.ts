import type { DocumentsService } from '../../service';
import { timingMember } from '../answer-json';
import { defineEndpoint } from '../define-endpoint';
import type { Endpoint } from '../endpoint';
import type { HttpLimits } from '../http-limits';
import * as schemas from '../schema/document-schemas';
import { readUploadForm } from '../upload-form';

export function documentEndpoints(parts: { documents: DocumentsService; limits: HttpLimits }): Endpoint[] {
  const { documents, limits } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/documents/upload',
      access: 'readwrite',
      tag: 'Documents',
      summary: 'Upload a .txt file: it is split, embedded and stored',
      description: 'All or nothing. Chunks are stored as <document_id>-chunk-<n>, counted from 0.',
      body: { type: 'form', schema: schemas.uploadForm },
      answer: { type: 'data', schema: schemas.uploadAnswer },
      errors: [404],
      handle: async ({ request }) => {
        const { fields, file } = await readUploadForm(request, limits);
        const { documentId, chunksCreated, timing } = await documents.upload(fields.collection_name, file);
        const head = `"document_id":${JSON.stringify(documentId)},"chunks_created":${chunksCreated}`;
        return { type: 'data', json: `{${head}${timingMember(timing, fields.include_timing)}}` };
      },
    }),
  ];
}
