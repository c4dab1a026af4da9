import { useState } from 'preact/hooks';
import { call } from '../api/client';
import type { Alias, BodyOf } from '../api/shapes';
import { DialogForm } from '../parts/dialog-form';
import { Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import { mayWrite } from '../state/session';
import { tell } from '../state/toasts';

const EVERY_MS = 10_000;

type Action = BodyOf<'post_aliases'>['actions'][number];
type Asked = { type: 'create' | 'switch' } | { type: 'delete'; alias: string };

/** The aliases of a collection; whoever may write makes others, takes them from other collections, and deletes them. */
export function AliasList({ collection }: { collection: string }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const { data, error, refresh } = usePolling(`aliases/${collection}`, EVERY_MS, (signal) =>
    call<'get_aliases'>('GET', '/v1/aliases', { signal }),
  );
  const all = data?.aliases ?? [];
  const own = all.filter((one) => one.collection === collection);
  const others = all.filter((one) => one.collection !== collection);
  const change = async (action: Action, told: string): Promise<void> => {
    await call<'post_aliases'>('POST', '/v1/aliases', { body: { actions: [action] } });
    tell(told);
    setAsked(null);
    refresh();
  };
  return (
    <section class="card" aria-label="Aliases">
      <div class="card-head">
        <h2>Aliases</h2>
        {mayWrite() && (
          <button type="button" class="tight" onClick={() => setAsked({ type: 'create' })}>
            New alias
          </button>
        )}
        {mayWrite() && others.length > 0 && (
          <button type="button" class="tight" onClick={() => setAsked({ type: 'switch' })}>
            Switch one here
          </button>
        )}
      </div>
      <div class="card-body stack">
        <Failure error={error} />
        {data !== null && own.length === 0 && <p class="quiet">None. An alias is a name that can be moved at once.</p>}
        {own.map(({ alias }) => (
          <div key={alias} class="care">
            <strong class="break">{alias}</strong>
            {mayWrite() && (
              <button
                type="button"
                class="tight"
                aria-label={`Delete alias ${alias}`}
                onClick={() => setAsked({ type: 'delete', alias })}
              >
                Delete
              </button>
            )}
          </div>
        ))}
      </div>
      {asked?.type === 'create' && (
        <NewAlias
          collection={collection}
          onClose={() => setAsked(null)}
          run={(alias) => change({ create: { alias, collection } }, `${alias} is a name of ${collection}.`)}
        />
      )}
      {asked?.type === 'switch' && (
        <MovedAlias
          collection={collection}
          others={others}
          onClose={() => setAsked(null)}
          run={(alias) => change({ switch: { alias, collection } }, `${alias} is a name of ${collection} now.`)}
        />
      )}
      {asked?.type === 'delete' && (
        <DialogForm
          title={`Delete alias ${asked.alias}?`}
          verb="Delete alias"
          isDanger
          onClose={() => setAsked(null)}
          run={() => change({ delete: { alias: asked.alias } }, `Deleted alias ${asked.alias}.`)}
        >
          <p>The collection stays. Requests that use this name fail from now on.</p>
        </DialogForm>
      )}
    </section>
  );
}

interface FormProps {
  collection: string;
  onClose: () => void;
  run: (alias: string) => Promise<void>;
}

function NewAlias({ collection, onClose, run }: FormProps) {
  const [name, setName] = useState('');
  return (
    <DialogForm
      title={`New alias of ${collection}`}
      verb="Create alias"
      isReady={name !== ''}
      onClose={onClose}
      run={() => run(name)}
    >
      <label class="field">
        <span class="label">Name</span>
        <input
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      </label>
    </DialogForm>
  );
}

function MovedAlias({ collection, others, onClose, run }: FormProps & { others: Alias[] }) {
  const [name, setName] = useState(others[0]?.alias ?? '');
  return (
    <DialogForm title={`Switch an alias to ${collection}`} verb="Switch alias" onClose={onClose} run={() => run(name)}>
      <label class="field">
        <span class="label">Alias</span>
        <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {others.map((one) => (
            <option key={one.alias} value={one.alias}>
              {one.alias} (of {one.collection})
            </option>
          ))}
        </select>
      </label>
      <p class="quiet">Requests that begin after this see {collection}.</p>
    </DialogForm>
  );
}
