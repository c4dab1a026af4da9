import { useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { Collection, Metadata, StoredItem } from '../api/shapes';
import { Dialog } from '../parts/dialog';
import { score } from '../parts/format';
import { CloseIcon } from '../parts/icons';
import { Busy, Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import { go } from '../state/route';
import { mayWrite } from '../state/session';
import { tell } from '../state/toasts';
import { deleteWithUndo, fetchItem, storeMetadata } from './stored-item';

const NEIGHBOURS = 8;
/** Of a vector, how many numbers are put on the page when it is unfolded. */
const NUMBERS_MAX = 2048;

interface ItemPanelProps {
  collection: Collection;
  id: string;
  onItem: (id: string) => void;
  onClose: () => void;
  onChange: () => void;
}

/** One item: its text, metadata and vector, what is near it, and what may be done with it. */
export function ItemPanel({ collection, id, onItem, onClose, onChange }: ItemPanelProps) {
  const item = usePolling(`item/${collection.name}/${id}`, 0, (signal) => fetchItem(collection.name, id, signal));
  const [isEditing, setEditing] = useState(false);
  const remove = async (): Promise<void> => {
    try {
      await deleteWithUndo(collection.name, [id], onChange);
      onClose();
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
  };
  return (
    <Dialog title={`Item ${id}`} isWide onClose={onClose}>
      <div class="dialog-body">
        <div class="page-head">
          <h2 class="break grow">{id}</h2>
          <button type="button" class="plain icon" onClick={onClose} aria-label="Close">
            <CloseIcon />
          </button>
        </div>
        {item.data === null && item.error === null && <Busy>Asking for the item…</Busy>}
        <Failure error={item.error} />
        {item.data !== null && (
          <>
            {item.data.text !== null && item.data.text !== '' && <p class="item-text break">{item.data.text}</p>}
            {isEditing ? (
              <MetadataEditor
                collection={collection}
                item={item.data}
                onDone={(hasChanged) => {
                  setEditing(false);
                  if (!hasChanged) return;
                  item.refresh();
                  onChange();
                }}
              />
            ) : (
              <MetadataTable metadata={item.data.metadata} />
            )}
            <details>
              <summary>Vector of {item.data.vector?.length ?? 0} numbers</summary>
              <pre class="json" tabIndex={0}>
                {item.data.vector?.slice(0, NUMBERS_MAX).join(', ')}
                {(item.data.vector?.length ?? 0) > NUMBERS_MAX ? ' …' : ''}
              </pre>
            </details>
            <div class="row">
              <button
                type="button"
                onClick={() => {
                  onClose();
                  go(`#/collections/${collection.name}/search?mode=item&q=${encodeURIComponent(id)}`);
                }}
              >
                More like this
              </button>
              {mayWrite() && !isEditing && (
                <button type="button" onClick={() => setEditing(true)}>
                  Edit metadata
                </button>
              )}
              {mayWrite() && (
                <button type="button" class="danger" onClick={() => void remove()}>
                  Delete
                </button>
              )}
            </div>
            <Neighbours collection={collection.name} id={id} onItem={onItem} />
          </>
        )}
      </div>
    </Dialog>
  );
}

function MetadataTable({ metadata }: { metadata: Metadata }) {
  const pairs = Object.entries(metadata).filter(([field]) => field !== 'text');
  if (pairs.length === 0) return <p class="quiet">No metadata.</p>;
  return (
    <table class="metadata">
      <caption class="visually-hidden">Metadata</caption>
      <tbody>
        {pairs.map(([field, value]) => (
          <tr key={field}>
            <th scope="row" class="break">
              {field}
            </th>
            <td class="break mono">{JSON.stringify(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MetadataEditor({
  collection,
  item,
  onDone,
}: {
  collection: Collection;
  item: StoredItem;
  onDone: (hasChanged: boolean) => void;
}) {
  const [text, setText] = useState(JSON.stringify(item.metadata, null, 2));
  const [failure, setFailure] = useState<string | null>(null);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const metadata = JSON.parse(text) as unknown;
      if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
        throw new Error('Metadata is a JSON object: { "field": value }.');
      await storeMetadata(collection.name, item, metadata as Metadata, true);
      tell(`Saved the metadata of ${item.external_id}.`, {
        action: {
          label: 'Undo',
          run: () =>
            void storeMetadata(collection.name, item, item.metadata, false).then(
              () => onDone(true),
              (error: unknown) => tell(messageOf(error), { isBad: true }),
            ),
        },
      });
      onDone(true);
    } catch (error) {
      setFailure(error instanceof SyntaxError ? `This is not JSON: ${error.message}` : messageOf(error));
    }
  };
  return (
    <form class="stack bare" onSubmit={(event) => void save(event)}>
      <label class="field">
        <span class="label">Metadata, as JSON</span>
        <textarea
          class="code"
          rows={Math.min(18, text.split('\n').length + 1)}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          spellcheck={false}
          autofocus
        />
      </label>
      <Failure error={failure} />
      <div class="row end">
        <button type="button" onClick={() => onDone(false)}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Save metadata
        </button>
      </div>
    </form>
  );
}

function Neighbours({ collection, id, onItem }: { collection: string; id: string; onItem: (id: string) => void }) {
  const near = usePolling(
    `near/${collection}/${id}`,
    0,
    async (signal) =>
      (
        await call<'post_collections_name_recommend_id'>(
          'POST',
          path('/v1/collections/', collection, '/recommend/', id),
          {
            body: { k: NEIGHBOURS },
            signal,
          },
        )
      ).results ?? [],
  );
  if (near.data === null || near.data.length === 0) return null;
  return (
    <div class="stack">
      <h3>Nearest items</h3>
      <ol class="near">
        {near.data.map((hit) => (
          <li key={hit.external_id} class="row">
            <span class="quiet number small">{score(hit.score)}</span>
            <button type="button" class="link break" onClick={() => onItem(hit.external_id)}>
              {hit.external_id}
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
