import { useState } from 'preact/hooks';
import { plural } from '../parts/format';
import { isKept, type JudgedQuery, queriesOf } from './judged';

/** From so many on they can be searched. */
const FILTER_FROM = 8;

interface QueryListProps {
  judged: JudgedQuery[];
  /** The query that is graded; empty: none. */
  chosen: string;
  isReadOnly: boolean;
  onChoose: (query: string) => void;
  onAdd: (queries: string[]) => void;
}

/** The judged queries, and new ones: each line that is typed or pasted. */
export function QueryList({ judged, chosen, isReadOnly, onChoose, onAdd }: QueryListProps) {
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const shown = judged.filter(({ query }) => query.toLowerCase().includes(wanted));
  const drafts = judged.filter((one) => !isKept(one)).length;
  return (
    <section class="card" aria-label="Queries">
      <div class="card-head">
        <h2>{plural(judged.length, 'query', 'queries')}</h2>
        {drafts > 0 && !isReadOnly && <span class="tag warn">{drafts} not kept yet</span>}
      </div>
      {!isReadOnly && <NewQueries judged={judged} onAdd={onAdd} onChoose={onChoose} />}
      {judged.length >= FILTER_FROM && (
        <div class="card-body query-filter">
          <input
            type="search"
            class="grow"
            aria-label="Find among the queries"
            placeholder="Find among the queries"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </div>
      )}
      <ul class="queries" aria-label="Judged queries">
        {shown.map((one, i) => (
          <li key={`${i}/${one.query}`}>
            <button
              type="button"
              aria-current={one.query === chosen ? 'true' : undefined}
              onClick={() => onChoose(one.query)}
            >
              <span class="break">{one.query}</span>
              <span class={`small number ${isKept(one) ? 'quiet' : 'warn-text'}`}>
                {isKept(one) ? plural(one.grades.size, 'grade') : 'not kept yet'}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && judged.length > 0 && <p class="empty">No query has this in it.</p>}
    </section>
  );
}

function NewQueries({
  judged,
  onAdd,
  onChoose,
}: {
  judged: JudgedQuery[];
  onAdd: (queries: string[]) => void;
  onChoose: (query: string) => void;
}) {
  const [text, setText] = useState('');
  const add = (): void => {
    const queries = queriesOf(text, judged);
    if (queries.length > 0) onAdd(queries);
    // One that is there already is what somebody wants to see.
    else if (text.trim() !== '') onChoose(text.trim().split('\n')[0]?.trim() ?? '');
    setText('');
  };
  return (
    <form
      class="card-body stack tight-stack"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <label class="field">
        <span class="label">New queries, one a line</span>
        <textarea
          rows={Math.min(8, Math.max(2, text.split('\n').length))}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            add();
          }}
        />
        <span class="hint">Enter adds them, Shift and Enter begins a line.</span>
      </label>
      <button type="submit">Add</button>
    </form>
  );
}
