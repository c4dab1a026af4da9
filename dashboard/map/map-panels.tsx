import { useEffect } from 'preact/hooks';
import { call, path } from '../api/client';
import type { StoredItem } from '../api/shapes';
import { plural, score, valueText } from '../parts/format';
import { CloseIcon } from '../parts/icons';
import { Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import type { SampledItem } from './sample';

const NEAR = 10;
/** Of a text, and of a selection, what is shown here. */
const TEXT_MAX = 300;
const LISTED_MAX = 200;

interface FocusPanelProps {
  collection: string;
  item: SampledItem | null;
  /** Gets the ids of the item's neighbours. */
  onNear: (ids: string[]) => void;
  onItem: (id: string) => void;
  onPlace: (id: string) => void;
  onClose: () => void;
}

/** The point that was clicked, and what is near it in all its dimensions. */
export function FocusPanel({ collection, item, onNear, onItem, onPlace, onClose }: FocusPanelProps) {
  const id = item?.external_id ?? '';
  const near = usePolling(
    `near/${id}`,
    0,
    async (signal) =>
      (
        await call<'post_collections_name_recommend_id'>(
          'POST',
          path('/v1/collections/', collection, '/recommend/', id),
          {
            body: { k: NEAR },
            signal,
          },
        )
      ).results ?? [],
  );
  const text = usePolling(`text/${id}`, 0, async (signal): Promise<StoredItem['text']> => {
    const body = { ids: [id], include_vectors: false };
    return (
      (
        await call<'post_collections_name_vectors_fetch'>(
          'POST',
          path('/v1/collections/', collection, '/vectors/fetch'),
          {
            body,
            signal,
          },
        )
      ).vectors.at(0)?.text ?? null
    );
  });
  useEffect(() => {
    if (near.data !== null) onNear(near.data.map(({ external_id: one }) => one));
  }, [near.data]);
  if (item === null) return null;
  return (
    <section class="card" aria-label="Chosen item">
      <div class="card-head">
        <button type="button" class="link break hit-id grow" onClick={() => onItem(id)}>
          {id}
        </button>
        <button type="button" class="plain icon tight" aria-label="Close" onClick={onClose}>
          <CloseIcon />
        </button>
      </div>
      <div class="card-body stack">
        {text.data !== null && (
          <p class="break">{text.data.length > TEXT_MAX ? `${text.data.slice(0, TEXT_MAX)} …` : text.data}</p>
        )}
        <dl class="focus-facts">
          {Object.entries(item.metadata).map(([field, value]) => (
            <div key={field}>
              <dt class="break">{field}</dt>
              <dd class="break">{valueText(value)}</dd>
            </div>
          ))}
        </dl>
        <h3>Nearest items</h3>
        <Failure error={near.error} />
        <ol class="near">
          {near.data?.map((hit) => (
            <li key={hit.external_id} class="row nowrap">
              <span class="quiet number small">{score(hit.score)}</span>
              <button type="button" class="link break" onClick={() => onPlace(hit.external_id)}>
                {hit.external_id}
              </button>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

/** What the lasso caught. */
export function SelectionPanel({
  ids,
  onItem,
  onClear,
}: {
  ids: string[];
  onItem: (id: string) => void;
  onClear: () => void;
}) {
  return (
    <section class="card" aria-label="Selected items">
      <div class="card-head">
        <h2>
          <span role="status">{plural(ids.length, 'item')} selected</span>
        </h2>
        <button type="button" class="tight plain" onClick={onClear}>
          Clear
        </button>
      </div>
      <ul class="card-body near selection" tabIndex={0}>
        {ids.slice(0, LISTED_MAX).map((id) => (
          <li key={id}>
            <button type="button" class="link break" onClick={() => onItem(id)}>
              {id}
            </button>
          </li>
        ))}
        {ids.length > LISTED_MAX && <li class="quiet">and {plural(ids.length - LISTED_MAX, 'other')}</li>}
      </ul>
    </section>
  );
}
