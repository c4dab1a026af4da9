import { SearchIcon } from '../parts/icons';
import { hasExact, MODES, type Mode, type SearchPlan } from './search-request';

const PLACEHOLDERS: Record<Mode, string> = {
  text: 'What are you looking for?',
  hybrid: 'Words and meaning together',
  item: 'external_id of an item',
  vector: '[0.12, -0.03, …]',
};
/** How many hits the page offers. */
export const K_CHOICES = [5, 10, 20, 50, 100];

interface SearchFormProps {
  plan: SearchPlan;
  isBusy: boolean;
  onChange: (plan: SearchPlan) => void;
  onSearch: (plan: SearchPlan) => void;
}

export function SearchForm({ plan, isBusy, onChange, onSearch }: SearchFormProps) {
  const choose = (mode: Mode): void => {
    // A text fits both; an id or a vector is no text.
    const keepsQuery = ['text', 'hybrid'].includes(mode) && ['text', 'hybrid'].includes(plan.mode);
    const next = { ...plan, mode, query: keepsQuery ? plan.query : '' };
    if (keepsQuery && next.query !== '') onSearch(next);
    else onChange(next);
  };
  return (
    <form
      class="stack"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(plan);
      }}
    >
      <div class="row">
        <div class="segments" role="radiogroup" aria-label="Search by">
          {Object.entries(MODES).map(([mode, label]) => (
            <button
              key={mode}
              type="button"
              role="radio"
              aria-checked={plan.mode === mode}
              onClick={() => choose(mode as Mode)}
            >
              {label}
            </button>
          ))}
        </div>
        <label class="check">
          <span class="quiet">Hits</span>
          <select value={plan.k} onChange={(event) => onSearch({ ...plan, k: Number(event.currentTarget.value) })}>
            {[...new Set([...K_CHOICES, plan.k])]
              .sort((a, b) => a - b)
              .map((k) => (
                <option key={k} value={k}>
                  {k}
                </option>
              ))}
          </select>
        </label>
        {hasExact(plan) && (
          <label class="check">
            <input
              type="checkbox"
              checked={plan.besideExact}
              onChange={(event) => onSearch({ ...plan, besideExact: event.currentTarget.checked })}
            />
            Beside exact
          </label>
        )}
      </div>
      <div class="search-line">
        {plan.mode === 'vector' ? (
          <textarea
            class="code grow"
            rows={3}
            aria-label="Query"
            value={plan.query}
            placeholder={PLACEHOLDERS.vector}
            onInput={(event) => onChange({ ...plan, query: event.currentTarget.value })}
            spellcheck={false}
          />
        ) : (
          <input
            class="grow"
            type="search"
            aria-label="Query"
            value={plan.query}
            placeholder={PLACEHOLDERS[plan.mode]}
            onInput={(event) => onChange({ ...plan, query: event.currentTarget.value })}
            autofocus
          />
        )}
        <button type="submit" class="primary" aria-busy={isBusy}>
          <SearchIcon />
          Search
        </button>
      </div>
      {plan.mode === 'hybrid' && (
        <label class="alpha">
          <span class="quiet small">Keywords</span>
          <input
            type="range"
            min={0}
            max={1}
            step={0.05}
            value={plan.alpha}
            aria-label="Weight of meaning against keywords (alpha)"
            onInput={(event) => onChange({ ...plan, alpha: event.currentTarget.valueAsNumber })}
            onChange={(event) => onSearch({ ...plan, alpha: event.currentTarget.valueAsNumber })}
          />
          <span class="quiet small">Meaning</span>
          <output class="number small">alpha {plan.alpha.toFixed(2)}</output>
        </label>
      )}
    </form>
  );
}
