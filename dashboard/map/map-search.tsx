import { useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import { plural } from '../parts/format';
import { SearchIcon } from '../parts/icons';

/** Hits that light up. */
const K = 100;

/** Finds by text and lights up, among the points, what it finds. */
export function MapSearch({ collection, onHits }: { collection: string; onHits: (ids: string[]) => void }) {
  const [text, setText] = useState('');
  const [said, setSaid] = useState('');
  const search = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.trim() === '') {
      setSaid('');
      onHits([]);
      return;
    }
    try {
      const { results = [] } = await call<'post_collections_name_search'>(
        'POST',
        path('/v1/collections/', collection, '/search'),
        {
          body: { text, k: K },
        },
      );
      setSaid(`${plural(results.length, 'hit')}, those among the points lit up`);
      onHits(results.map(({ external_id: id }) => id));
    } catch (error) {
      setSaid(messageOf(error));
    }
  };
  return (
    <form class="card card-body stack" role="search" onSubmit={(event) => void search(event)}>
      <div class="row nowrap">
        <input
          class="grow map-query"
          type="search"
          aria-label="Search on the map"
          placeholder="Light up hits"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="icon" aria-label="Search">
          <SearchIcon />
        </button>
      </div>
      {said !== '' && (
        <p class="quiet small break" role="status">
          {said}
        </p>
      )}
    </form>
  );
}
