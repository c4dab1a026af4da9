import { useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { StoredDocument, StoredItem } from '../api/shapes';
import { Dialog } from '../parts/dialog';
import { CloseIcon } from '../parts/icons';
import { Busy, Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import { nameOf } from './document-name';

const CHUNKS_SHOWN = 50;

/** A document as its chunks have it, in order, under their headings and pages. */
export function DocumentPanel({
  collection,
  document,
  onClose,
}: {
  collection: string;
  document: StoredDocument;
  onClose: () => void;
}) {
  /** Of the pages up to the one that is shown. */
  const [cursors, setCursors] = useState<string[]>([]);
  const { document_id: id } = document;
  const cursor = cursors.at(-1);
  const chunks = usePolling(`document/${collection}/${id}/${cursor ?? ''}`, 0, (signal) =>
    call<'post_collections_name_scroll'>('POST', path('/v1/collections/', collection, '/scroll'), {
      body: {
        limit: CHUNKS_SHOWN,
        include_vectors: false,
        filters: { document_id: id },
        order_by: [{ field: 'chunk_index', direction: 'asc' }],
        cursor,
      },
      signal,
    }),
  );
  const name = nameOf(document);
  const shown = chunks.data?.vectors ?? [];
  const next = chunks.data?.next_cursor ?? null;
  return (
    <Dialog title={`Document ${name}`} isWide onClose={onClose}>
      <div class="dialog-body">
        <div class="page-head">
          <h2 class="break grow">{name}</h2>
          <button type="button" class="plain icon" onClick={onClose} aria-label="Close">
            <CloseIcon />
          </button>
        </div>
        {chunks.data === null && chunks.error === null && <Busy>Asking for the chunks…</Busy>}
        <Failure error={chunks.error} />
        {shown.map((chunk, i) => (
          <Chunk key={chunk.external_id} chunk={chunk} before={shown[i - 1] ?? null} />
        ))}
        <div class="row">
          {cursors.length > 0 && (
            <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
              Before
            </button>
          )}
          {next !== null && (
            <button type="button" onClick={() => setCursors([...cursors, next])}>
              After
            </button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function Chunk({ chunk, before }: { chunk: StoredItem; before: StoredItem | null }) {
  const headings = headingsOf(chunk);
  const { page, chunk_index: index } = chunk.metadata;
  return (
    <section aria-label={`Chunk ${String(index)}`}>
      {headings !== '' && headings !== (before === null ? '' : headingsOf(before)) && <h3 class="break">{headings}</h3>}
      <p class="quiet small">
        chunk {String(index)}
        {typeof page === 'number' ? `, page ${page}` : ''}
      </p>
      <p class="item-text break">{chunk.text}</p>
    </section>
  );
}

function headingsOf({ metadata: { headings } }: StoredItem): string {
  return Array.isArray(headings) ? headings.join(' › ') : '';
}
