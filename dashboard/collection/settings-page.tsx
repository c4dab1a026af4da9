import { useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { Collection, CollectionStats } from '../api/shapes';
import { IndexState } from '../home/collections-table';
import { bytes, count, dateTime, plural } from '../parts/format';
import { Question } from '../parts/question';
import { AliasList } from './alias-list';
import { go } from '../state/route';
import { mayWrite } from '../state/session';
import { tell } from '../state/toasts';

export function SettingsPage({
  collection,
  stats,
  onChange,
}: {
  collection: Collection;
  stats: CollectionStats | null;
  onChange: () => void;
}) {
  return (
    <div class="columns two">
      <section class="card" aria-label="About this collection">
        <div class="card-head">
          <h2>About</h2>
        </div>
        <dl class="card-body about">
          <Fact name="Made">{dateTime(collection.created_at)}</Fact>
          <Fact name="Vectors">{count(collection.vector_count)}</Fact>
          <Fact name="Dimension">{collection.dim}</Fact>
          <Fact name="Metric">{collection.distance_metric}</Fact>
          <Fact name="Model of texts">{collection.embedding_model ?? 'none yet'}</Fact>
          {collection.embedding && <Fact name="Embedding">{shownEmbedding(collection.embedding)}</Fact>}
          <Fact name="Language of keywords">{collection.language ?? 'none'}</Fact>
          {collection.keyword_fields && (
            <Fact name="Keyword fields">{collection.keyword_fields.map(shownField).join(', ')}</Fact>
          )}
          <Fact name="Shards">{collection.shards}</Fact>
          <Fact name="Replicas">{collection.replicas}</Fact>
          {stats !== null && <Fact name="In memory">{bytes(stats.memory_bytes)}</Fact>}
          {stats !== null && <Fact name="On disk">{bytes(stats.disk_bytes)}</Fact>}
          {stats !== null && (
            <Fact name="Index">
              <IndexState stats={stats} />
            </Fact>
          )}
        </dl>
      </section>
      <div class="stack">
        {mayWrite() && <Description collection={collection} onChange={onChange} />}
        <AliasList collection={collection.name} />
        {mayWrite() && <Care collection={collection} onChange={onChange} />}
      </div>
    </div>
  );
}

/** What it says besides the model. */
function shownEmbedding(embedding: NonNullable<Collection['embedding']>): string {
  const { model, dtype, query_prefix: query, passage_prefix: passage, truncate_dim: dim, template } = embedding;
  return [
    model,
    ...(dtype === null ? [] : [dtype]),
    ...(query === null ? [] : [`queries behind ${JSON.stringify(query)}`]),
    ...(passage === null ? [] : [`passages behind ${JSON.stringify(passage)}`]),
    ...(dim === null ? [] : [`cut to ${dim}`]),
    ...(template === null ? [] : [`of ${JSON.stringify(template)}`]),
  ].join(', ');
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="break number">{children}</dd>
    </div>
  );
}

function Description({ collection, onChange }: { collection: Collection; onChange: () => void }) {
  const [text, setText] = useState(collection.description ?? '');
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await call<'patch_collections_collection_name'>('PATCH', path('/v1/collections/', collection.name), {
        body: { description: text.trim() === '' ? null : text },
      });
      tell('Saved the description.');
      onChange();
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
  };
  return (
    <form class="card card-body stack" onSubmit={(event) => void save(event)}>
      <label class="field">
        <span class="label">Description</span>
        <textarea rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="row end">
        <button type="submit">Save description</button>
      </div>
    </form>
  );
}

function Care({ collection, onChange }: { collection: Collection; onChange: () => void }) {
  const [isDeleting, setDeleting] = useState(false);
  const optimize = async (): Promise<void> => {
    try {
      await call<'post_collections_name_optimize'>('POST', path('/v1/collections/', collection.name, '/optimize'));
      tell('The index is being made anew in the background.');
      onChange();
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
  };
  return (
    <section class="card card-body stack" aria-label="Care">
      <div class="care">
        <p>
          <strong>Optimize the index.</strong>{' '}
          <span class="quiet">
            Removes what was deleted and measures the effort of searches anew. Searches go on meanwhile.
          </span>
        </p>
        <button type="button" onClick={() => void optimize()}>
          Optimize
        </button>
      </div>
      <div class="care">
        <p>
          <strong>Delete the collection.</strong> <span class="quiet">With everything in it, for good.</span>
        </p>
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          Delete collection
        </button>
      </div>
      {isDeleting && (
        <Question
          title={`Delete ${collection.name}?`}
          verb="Delete for good"
          typed={collection.name}
          onClose={() => setDeleting(false)}
          run={async () => {
            await call<'delete_collections_name'>('DELETE', path('/v1/collections/', collection.name, '?force=true'));
            tell(`Deleted ${collection.name}.`);
            go('#/');
          }}
        >
          <p>
            {plural(collection.vector_count, 'vector')} with metadata, texts and index will be gone, and the aliases of
            the collection. This cannot be undone.
          </p>
        </Question>
      )}
    </section>
  );
}

function shownField({ path, weight, analyser }: { path: string; weight: number; analyser?: string }): string {
  return `${path}:${weight}${analyser === undefined ? '' : `:${analyser}`}`;
}
