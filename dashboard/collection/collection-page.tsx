import { useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { Collection, CollectionStats } from '../api/shapes';
import { BrowsePage } from '../browse/browse-page';
import { IndexState, shortModel, Unavailable } from '../home/collections-table';
import { bytes, compact, plural } from '../parts/format';
import { LazyPage } from '../parts/lazy-page';
import { Busy, Failure } from '../parts/notice';
import { SearchPage } from '../search/search-page';
import { usePolling } from '../state/polling';
import { mayWrite } from '../state/session';
import { UploadPage } from '../upload/upload-page';
import { ItemPanel } from './item-panel';
import { SettingsPage } from './settings-page';

const POLL_MS = 5000;

export function CollectionPage({ name, tab }: { name: string; tab: string }) {
  const [shownItem, setShownItem] = useState<string | null>(null);
  const [changes, setChanges] = useState(0);
  const collection = usePolling(`collection/${name}`, POLL_MS, (signal) =>
    call<'get_collections_name'>('GET', path('/v1/collections/', name), { signal }),
  );
  const stats = usePolling(`stats/${name}`, POLL_MS, (signal) =>
    call<'get_collections_name_stats'>('GET', path('/v1/collections/', name, '/stats'), { signal }),
  );

  const found = collection.data;
  if (found === null) {
    return (
      <>
        <h1 tabIndex={-1}>{name}</h1>
        {collection.error === null ? <Busy>Asking for the collection…</Busy> : <Failure error={collection.error} />}
        <p>
          <a href="#/">All collections</a>
        </p>
      </>
    );
  }
  const link = (section: string, text: string) => (
    <a href={`#/collections/${name}/${section}`} aria-current={tab === section ? 'page' : undefined}>
      {text}
    </a>
  );
  return (
    <>
      <div class="stack tight-stack">
        <nav aria-label="Where you are" class="small">
          <a href="#/">← Collections</a>
        </nav>
        <div class="page-head">
          <h1 tabIndex={-1} class="break">
            {name}
          </h1>
          <Facts collection={found} stats={stats.data} />
        </div>
        {found.description !== null && <p class="quiet break">{found.description}</p>}
      </div>
      <nav class="tabs" aria-label={`Parts of ${name}`}>
        {link('search', 'Search')}
        {link('ask', 'Ask')}
        {link('browse', 'Browse')}
        {link('map', 'Map')}
        {link('lab', 'Search lab')}
        {link('documents', 'Documents')}
        {mayWrite() && link('upload', 'Upload')}
        {link('settings', mayWrite() ? 'Settings' : 'About')}
      </nav>
      {tab === 'search' && <SearchPage collection={found} onItem={setShownItem} />}
      {tab === 'ask' && (
        <LazyPage
          load={() => import('../ask/ask-page').then(({ AskPage }) => AskPage)}
          collection={found}
          onItem={setShownItem}
        />
      )}
      {tab === 'browse' && <BrowsePage key={changes} collection={found} onItem={setShownItem} />}
      {tab === 'map' && (
        <LazyPage
          load={() => import('../map/map-page').then(({ MapPage }) => MapPage)}
          collection={found}
          onItem={setShownItem}
        />
      )}
      {tab === 'lab' && (
        <LazyPage
          load={() => import('../lab/lab-page').then(({ LabPage }) => LabPage)}
          collection={found}
          onItem={setShownItem}
        />
      )}
      {tab === 'documents' && (
        <LazyPage
          load={() => import('../documents/documents-page').then(({ DocumentsPage }) => DocumentsPage)}
          collection={found}
          onStored={collection.refresh}
        />
      )}
      {tab === 'upload' && mayWrite() && <UploadPage collection={found} onStored={collection.refresh} />}
      {tab === 'settings' && <SettingsPage collection={found} stats={stats.data} onChange={collection.refresh} />}
      {shownItem !== null && (
        <ItemPanel
          key={shownItem}
          collection={found}
          id={shownItem}
          onItem={setShownItem}
          onClose={() => setShownItem(null)}
          onChange={() => {
            setChanges((last) => last + 1);
            collection.refresh();
          }}
        />
      )}
    </>
  );
}

function Facts({ collection, stats }: { collection: Collection; stats: CollectionStats | null }) {
  return (
    <div class="facts">
      <span class="tag number">{compact(collection.vector_count)} vectors</span>
      <Unavailable collection={collection} />
      <span class="tag number">{collection.dim} dimensions</span>
      <span class="tag">{collection.distance_metric}</span>
      {collection.embedding_model !== null && <span class="tag">{shortModel(collection.embedding_model)}</span>}
      {collection.language !== null && <span class="tag">keywords: {collection.language}</span>}
      {(collection.shards > 1 || collection.replicas > 1) && (
        <span class="tag">
          {plural(collection.shards, 'shard')} × {plural(collection.replicas, 'replica')}
        </span>
      )}
      {stats !== null && <span class="tag number">{bytes(stats.memory_bytes)} memory</span>}
      {stats !== null && stats.index.state !== 'ready' && <IndexState stats={stats} />}
    </div>
  );
}
