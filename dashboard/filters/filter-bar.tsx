import { useId, useState } from 'preact/hooks';
import { CloseIcon, PlusIcon } from '../parts/icons';
import {
  type Condition,
  conditionFromText,
  conditionLine,
  operandOf,
  OPERATORS,
  type Operator,
  withCondition,
} from './filter-model';

interface FilterBarProps {
  conditions: Condition[];
  /** Names of metadata that were seen, offered while somebody types. */
  fields: string[];
  onChange: (conditions: Condition[]) => void;
}

export function FilterBar({ conditions, fields, onChange }: FilterBarProps) {
  const [isAdding, setAdding] = useState(false);
  return (
    <div class="filter-bar" role="group" aria-label="Filters">
      {conditions.map((condition, i) => (
        <span key={JSON.stringify(condition)} class="tag accent filter">
          <span class="break">{conditionLine(condition)}</span>
          <button
            type="button"
            class="plain icon tight"
            aria-label={`Remove the filter ${conditionLine(condition)}`}
            onClick={() => onChange(conditions.filter((_, at) => at !== i))}
          >
            <CloseIcon />
          </button>
        </span>
      ))}
      {isAdding ? (
        <FilterForm
          fields={fields}
          onAdd={(condition) => {
            onChange(withCondition(conditions, condition));
            setAdding(false);
          }}
          onCancel={() => setAdding(false)}
        />
      ) : (
        <button type="button" class="plain tight" onClick={() => setAdding(true)}>
          <PlusIcon />
          Filter
        </button>
      )}
    </div>
  );
}

function FilterForm({
  fields,
  onAdd,
  onCancel,
}: {
  fields: string[];
  onAdd: (condition: Condition) => void;
  onCancel: () => void;
}) {
  const list = useId();
  const [field, setField] = useState('');
  const [operator, setOperator] = useState<Operator>('$eq');
  const [text, setText] = useState('');
  return (
    <form
      class="row filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd(conditionFromText(field.trim(), operator, text));
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel();
      }}
    >
      <input
        aria-label="Metadata field"
        list={list}
        value={field}
        onInput={(event) => setField(event.currentTarget.value)}
        placeholder={operator === '$text' ? 'any field' : 'field'}
        required={operator !== '$text'}
        autofocus
        autocomplete="off"
      />
      <datalist id={list}>
        {fields.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <select
        aria-label="Comparison"
        value={operator}
        onChange={(event) => setOperator(event.currentTarget.value as Operator)}
      >
        {[...OPERATORS].map(([name, sign]) => (
          <option key={name} value={name}>
            {sign}
          </option>
        ))}
      </select>
      {operandOf(operator) !== 'flag' && (
        <input
          aria-label="Value"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          placeholder={operandOf(operator) === 'values' ? 'one, another' : 'value'}
          autocomplete="off"
        />
      )}
      <button type="submit">Add</button>
      <button type="button" class="plain" onClick={onCancel}>
        Cancel
      </button>
    </form>
  );
}
