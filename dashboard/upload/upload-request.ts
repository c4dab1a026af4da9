import { BASE } from '../api/base';
import { ApiError, UnreachableError } from '../api/client';
import { credential } from '../api/credential';
import type { AnswerOf, Operation } from '../api/shapes';
import { session } from '../state/session';

export type UploadAnswer = AnswerOf<'post_documents_upload'>;

/**
 * Sends a file; `onSent` gets the share of it that left. The server cuts, embeds and stores while it reads, and reads
 * no faster: the share is that of the work. Not by fetch, which does not tell how far it is.
 */
export function uploadFile(
  collection: string,
  file: File,
  stop: AbortSignal,
  onSent: (share: number) => void,
): Promise<UploadAnswer> {
  return sendFile<'post_documents_upload'>('/v1/documents/upload', { collection_name: collection }, file, onSent, stop);
}

/** Sends a form with a file, as the last of its fields. */
export function sendFile<Id extends Operation>(
  path: string,
  fields: Record<string, string>,
  file: File,
  onSent: (share: number) => void,
  stop?: AbortSignal,
): Promise<AnswerOf<Id>> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', BASE + path);
    request.setRequestHeader(...credential(session.value?.key ?? ''));
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded, total }) => onSent(total === 0 ? 0 : loaded / total));
    request.addEventListener('load', () => {
      const answer = request.response as {
        status: string;
        data: AnswerOf<Id>;
        error: { code: number; message: string } | null;
      } | null;
      if (answer === null) reject(new UnreachableError());
      else if (answer.status === 'success') resolve(answer.data);
      else reject(new ApiError(answer.error?.code ?? 500, answer.error?.message ?? 'The server gave no reason.'));
    });
    request.addEventListener('error', () => reject(new UnreachableError()));
    request.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
    stop?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
