import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { z } from 'zod';
import { identityOf, writerOf } from '../../service/keys/caller';
import type { StoreDedup } from '../../service/idempotency/store-dedup';
import type {
  AddedDocument,
  BegunDocument,
  DocumentsService,
  DocumentView,
  NewDocument,
  ReceivedFile,
} from '../../service/service';
import { timingMember } from '../answers/answer-json';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Answer, Endpoint } from './endpoint';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import * as schemas from '../schema/document-schemas';
import { openUploadForm } from '../requests/upload-form';

const UPLOAD_FORM = { fields: schemas.uploadFields, form: schemas.uploadForm };
/** Room for metadata. */
const FIELD_BYTES = 64 * 1024;

type DocumentOptions = Omit<z.output<ReturnType<typeof schemas.documentFields>>, 'collection_name' | 'expires_at'> & {
  expires_at?: number | null | undefined;
};

export function documentEndpoints(parts: { documents: DocumentsService; limits: HttpLimits }): Endpoint[] {
  const { documents, limits } = parts;
  const shape = {
    fields: schemas.documentFields(limits),
    form: schemas.documentForm(limits),
    fieldBytes: FIELD_BYTES,
  };
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/documents/upload',
      access: 'readwrite',
      collections: { type: 'form' },
      tag: 'Documents',
      summary: 'Upload a .txt file: it is split, embedded and stored',
      description:
        'The file is cut, embedded and stored as it arrives (most quickly with collection_name before it), ' +
        'all or nothing: what was stored of an upload that fails, or whose client goes away, is deleted again. ' +
        'Chunks are stored as <document_id>-chunk-<n>, counted from 0, with document_id, chunk_index, source and ' +
        'text as metadata.',
      body: { type: 'form', schema: schemas.uploadForm },
      answer: { type: 'data', schema: schemas.uploadAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ request, key, use, streamed, warnings }) => {
        const form = await openUploadForm(request, UPLOAD_FORM, limits, warnings);
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
    defineEndpoint({
      method: 'POST',
      template: '/v1/documents',
      access: 'readwrite',
      collections: { type: 'form' },
      tag: 'Documents',
      summary: 'Add a document, or replace it: a job parses, cuts, embeds and stores it',
      description:
        'A form with a file, or JSON with a text. The answer comes once the file is on stable storage; ' +
        'GET /v1/jobs/{id} says how far its job is. Readers see all chunks of the document or none, the old or ' +
        'the new. Of a document that is sent again, only chunks with other texts are embedded.',
      body: {
        type: 'form',
        schema: shape.form,
        json: {
          type: 'json',
          schema: schemas.documentBody(limits),
          required: true,
          bytesMax: limits.bodyBytesMax,
          example: { collection_name: 'books', text: 'Call me Ishmael.', document_key: 'moby-dick', wait: true },
        },
      },
      answer: { type: 'data', schema: schemas.addedDocument },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ request, key, use, warnings, body, inStore }) => {
        const holder = key === null ? undefined : identityOf(key);
        // With an Idempotency-Key, what was begun then is answered as it is now.
        const once = async (
          collection: string,
          begin: (dedup: StoreDedup | undefined) => Promise<AddedDocument>,
          isWaited: boolean,
          known?: string,
        ): Promise<Answer> => {
          let added: AddedDocument | null = null;
          const begun = await inStore(async (dedup): Promise<BegunDocument> => {
            added = await begin(dedup);
            return { documentId: added.documentId, jobId: added.job.id };
          }, known);
          const waitMs = isWaited ? REQUEST_BOUNDS.documentWaitMs : 0;
          return addedAnswer(added ?? (await documents.added(collection, begun, waitMs)));
        };
        const add = async (
          collection: string,
          file: ReceivedFile,
          options: DocumentOptions,
          dedup: StoreDedup | undefined,
        ): Promise<AddedDocument> => {
          const { wait, document_key, metadata, chunking = {}, on_exists = 'replace', expires_at } = options;
          const document: NewDocument = {
            file,
            key: document_key,
            metadata,
            chunking,
            onExists: on_exists,
            expiresAt: expires_at ?? undefined,
            textInMetadata: options.text_in_metadata,
            fingerprint: options.fingerprint,
            holder,
          };
          const waitMs = wait ? REQUEST_BOUNDS.documentWaitMs : 0;
          return documents.add(collection, document, waitMs, writerOf(key), dedup);
        };
        const json = body as z.output<ReturnType<typeof schemas.documentBody>> | undefined;
        if (json !== undefined) {
          const collection = await use(json.collection_name);
          const text = Buffer.from(json.text);
          const content = Readable.from([text]) as AsyncIterable<Buffer>;
          const type = json.type ?? 'txt';
          const receive = async (dedup: StoreDedup | undefined): Promise<AddedDocument> => {
            const name = `text.${type}`;
            const received = await documents.receive(collection, { name, content, bytesMax: text.length, holder });
            return add(collection, { ...received, name: '', type }, json, dedup);
          };
          return once(collection, receive, json.wait);
        }
        const form = await openUploadForm(request, shape, limits, warnings);
        try {
          const collection = await use(form.fields().collection_name);
          const received = await documents.receive(collection, {
            ...form.file,
            bytesMax: announcedBytes(request),
            holder,
          });
          const fields = form.fields();
          const { sha256, name, type } = received;
          let isTaken = false;
          try {
            return await once(
              collection,
              (dedup) => {
                isTaken = true;
                return add(collection, received, fields, dedup);
              },
              fields.wait === true,
              JSON.stringify([fields, sha256, name, type]),
            );
          } finally {
            // It was added before.
            if (!isTaken) await documents.drop(received.id);
          }
        } finally {
          await form.close();
        }
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}/documents',
      access: 'readonly',
      tag: 'Documents',
      summary: 'List the documents of a collection',
      path: schemas.documentsParameters,
      query: schemas.documentsQuery,
      answer: { type: 'data', schema: schemas.documentsAnswer },
      errors: [404],
      handle: async ({ path, query }) => {
        const { cursor = null, limit } = query;
        const page = await documents.list(path.name, { cursor, limit });
        return dataAnswer({ documents: page.documents.map(documentData), next_cursor: page.nextCursor });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}/documents/{document_id}',
      access: 'readonly',
      tag: 'Documents',
      summary: 'What is stored of a document',
      description: 'Its chunks are found by the filter `{"document_id": …}`, in the order of `chunk_index`.',
      path: schemas.documentParameters,
      answer: { type: 'data', schema: schemas.documentAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(documentData(await documents.get(path.name, path.document_id))),
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/collections/{name}/documents/{document_id}',
      access: 'readwrite',
      tag: 'Documents',
      summary: 'Delete a document with all of its chunks',
      description:
        'Jobs that were begun before, and were to store it, are cancelled; one that is storing it is waited for, ' +
        'for some seconds: then the answer is 409.',
      path: schemas.documentParameters,
      answer: { type: 'data', schema: schemas.documentDeleted },
      errors: [404, 409],
      handle: async ({ path }) => {
        const { deletedChunks } = await documents.delete(path.name, path.document_id);
        return dataAnswer({ document_id: path.document_id, deleted_chunks: deletedChunks });
      },
    }),
  ];
}

/** No file of the request has more; undefined: it does not say. */
function announcedBytes({ headers }: IncomingMessage): number | undefined {
  const bytes = Number(headers['content-encoding'] === undefined ? headers['content-length'] : undefined);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

function addedAnswer({ documentId, job: { id, state, error, result } }: AddedDocument): Answer {
  return dataAnswer({ job_id: id, document_id: documentId, state, error, result });
}

function documentData({ documentId, key, updatedAt, ...document }: DocumentView) {
  return { document_id: documentId, document_key: key, ...document, updated_at: updatedAt };
}
