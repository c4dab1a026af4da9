import type { StoredDocument } from '../api/shapes';

/** What people know a document by. */
export function nameOf({ document_key: key, source, title, document_id: id }: StoredDocument): string {
  return key ?? (source === '' ? (title ?? id) : source);
}
