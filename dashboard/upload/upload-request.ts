import { BASE } from '../api/base';
import { ApiError, UnreachableError } from '../api/client';
import { credential } from '../api/credential';
import type { AnswerOf } from '../api/shapes';
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
  const form = new FormData();
  form.append('collection_name', collection);
  form.append('file', file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `${BASE}/v1/documents/upload`);
    request.setRequestHeader(...credential(session.value?.key ?? ''));
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded, total }) => onSent(total === 0 ? 0 : loaded / total));
    request.addEventListener('load', () => {
      const answer = request.response as {
        status: string;
        data: UploadAnswer;
        error: { code: number; message: string } | null;
      } | null;
      if (answer === null) reject(new UnreachableError());
      else if (answer.status === 'success') resolve(answer.data);
      else reject(new ApiError(answer.error?.code ?? 500, answer.error?.message ?? 'The server gave no reason.'));
    });
    request.addEventListener('error', () => reject(new UnreachableError()));
    request.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
    stop.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
