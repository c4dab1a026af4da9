import { useState } from 'preact/hooks';
import { EFFORT, FUSIONS, fieldsOf, isObject, nameOf, optionsOf, type Variant, type VariantFields } from './variants';

interface VariantFormProps {
  variant: Variant;
  /** From 1. */
  number: number;
  isOnly: boolean;
  /** Models that rerank. */
  models: string[];
  onChange: (variant: Variant) => void;
  onCopy: () => void;
  onFirst: () => void;
  onRemove: () => void;
}

/** One variant of the search. */
export function VariantForm(props: VariantFormProps) {
  const { variant, number, isOnly, models, onChange, onCopy, onFirst, onRemove } = props;
  const fields = fieldsOf(variant.options);
  const set = (changed: Partial<VariantFields>): void =>
    onChange({ ...variant, options: optionsOf({ ...fields, ...changed }) });
  const offered = [...new Set([...models, ...(fields.rerank === null ? [] : [fields.rerank])])];
  const said = nameOf(variant);
  return (
    <fieldset class="variant">
      <legend class="break">
        {number}. {said}
      </legend>
      <div class="form-grid variant-options">
        <label class="field">
          <span class="label">Name</span>
          <input
            value={variant.name}
            maxLength={100}
            placeholder={nameOf({ ...variant, name: '' })}
            onInput={(event) => onChange({ ...variant, name: event.currentTarget.value })}
            autocomplete="off"
          />
        </label>
        <label class="field">
          <span class="label">Alpha</span>
          <input
            type="number"
            min={0}
            max={1}
            step={0.05}
            value={fields.alpha}
            required
            onInput={(event) => {
              const { valueAsNumber } = event.currentTarget;
              if (!Number.isNaN(valueAsNumber)) set({ alpha: valueAsNumber });
            }}
          />
          <span class="hint">0 keywords, 1 meaning</span>
        </label>
        <label class="field">
          <span class="label">Fusion</span>
          <select value={fields.fusion} onChange={(event) => set({ fusion: event.currentTarget.value })}>
            <option value="">as it is</option>
            {Object.entries(FUSIONS).map(([kind, label]) => (
              <option key={kind} value={kind}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {offered.length > 0 && (
          <label class="field">
            <span class="label">Rerank by</span>
            <select
              // An index, since a name may be any text.
              value={fields.rerank === null ? '' : String(offered.indexOf(fields.rerank))}
              onChange={(event) => set({ rerank: offered[Number(event.currentTarget.value || -1)] ?? null })}
            >
              <option value="">nothing</option>
              {offered.map((model, i) => (
                <option key={model} value={String(i)}>
                  {model}
                </option>
              ))}
            </select>
          </label>
        )}
        <OptionalNumber
          label="Diversity (lambda)"
          value={fields.diversity}
          min={0}
          max={1}
          step={0.05}
          onValue={(diversity) => set({ diversity })}
        />
        <OptionalNumber
          label={`Effort (${EFFORT})`}
          value={fields.effort}
          min={1}
          max={100_000}
          step={1}
          onValue={(effort) => set({ effort })}
        />
      </div>
      <div class="row">
        <label class="check">
          <input
            type="checkbox"
            checked={fields.exact}
            onChange={(event) => set({ exact: event.currentTarget.checked })}
          />
          Exact
        </label>
        <OtherOptions rest={fields.rest} onRest={(rest) => set({ rest })} />
        <span class="browse-end row">
          {number > 1 && (
            <button type="button" class="tight plain" onClick={onFirst} aria-label={`Make it the first: ${said}`}>
              Make it the first
            </button>
          )}
          <button type="button" class="tight plain" onClick={onCopy} aria-label={`Copy: ${said}`}>
            Copy
          </button>
          {!isOnly && (
            <button type="button" class="tight plain" onClick={onRemove} aria-label={`Remove: ${said}`}>
              Remove
            </button>
          )}
        </span>
      </div>
    </fieldset>
  );
}

function OptionalNumber(props: {
  label: string;
  value: number | null;
  min: number;
  max: number;
  step: number;
  onValue: (value: number | null) => void;
}) {
  const { label, value, min, max, step, onValue } = props;
  return (
    <label class="field">
      <span class="label">{label}</span>
      <input
        type="number"
        min={min}
        max={max}
        step={step}
        value={value ?? ''}
        placeholder="as it is"
        onInput={(event) => {
          const { valueAsNumber } = event.currentTarget;
          onValue(Number.isNaN(valueAsNumber) ? null : valueAsNumber);
        }}
      />
    </label>
  );
}

/** Whatever else POST /v1/query takes. */
function OtherOptions({
  rest,
  onRest,
}: {
  rest: Record<string, unknown>;
  onRest: (rest: Record<string, unknown>) => void;
}) {
  const [text, setText] = useState(() => shownRest(rest));
  const [isWrong, setWrong] = useState(false);
  const change = (typed: string): void => {
    setText(typed);
    try {
      const read = typed.trim() === '' ? {} : (JSON.parse(typed) as unknown);
      setWrong(!isObject(read));
      if (isObject(read)) onRest(read);
    } catch {
      setWrong(true);
    }
  };
  const amount = Object.keys(rest).length;
  return (
    <details class="grow">
      <summary>Other options{amount === 0 ? '' : ` (${amount})`}</summary>
      <textarea
        class="code other-options"
        rows={3}
        aria-label="Other options, as JSON"
        aria-invalid={isWrong}
        placeholder={'{"fuzzy": "auto", "filters": {"topic": "rivers"}}'}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        spellcheck={false}
      />
      {isWrong && <p class="small bad-text">This is no JSON object; what was there before holds.</p>}
    </details>
  );
}

function shownRest(rest: Record<string, unknown>): string {
  return Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2);
}
