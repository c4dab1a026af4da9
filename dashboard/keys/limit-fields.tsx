import type { LimitTexts } from './limit-text';

interface LimitFieldsProps {
  value: LimitTexts;
  onChange: (value: LimitTexts) => void;
  /** Whether it is the key of the deployment, which has a rate alone. */
  isFixed?: boolean;
}

/** The limits of a key, to be filled in. */
export function LimitFields({ value, onChange, isFixed = false }: LimitFieldsProps) {
  const set = (change: Partial<LimitTexts>): void => onChange({ ...value, ...change });
  const rate = (
    <label class="field">
      <span class="label">Requests a minute</span>
      <input
        type="number"
        min={0}
        step={1}
        value={value.rate}
        onInput={(event) => set({ rate: event.currentTarget.value })}
        placeholder="as the service has it"
      />
      <span class="hint">0 for any number</span>
    </label>
  );
  if (isFixed) return rate;
  return (
    <>
      <label class="field">
        <span class="label">Collections</span>
        <input
          value={value.scopes}
          onInput={(event) => set({ scopes: event.currentTarget.value })}
          placeholder="all"
          autocomplete="off"
        />
        <span class="hint">Only these, as: articles, logs-*: readwrite</span>
      </label>
      <label class="field">
        <span class="label">Networks</span>
        <input
          value={value.networks}
          onInput={(event) => set({ networks: event.currentTarget.value })}
          placeholder="everywhere"
          autocomplete="off"
        />
        <span class="hint">Only from these, as: 10.20.0.0/16, 2001:db8::/32</span>
      </label>
      {rate}
      <fieldset class="quota">
        <legend class="label">Quota: the most that it may write</legend>
        <div class="row">
          <label class="field">
            <span class="label">Items</span>
            <input
              type="number"
              min={1}
              step={1}
              value={value.items}
              onInput={(event) => set({ items: event.currentTarget.value })}
              placeholder="any number"
            />
          </label>
          <label class="field">
            <span class="label">Bytes</span>
            <input
              type="number"
              min={1}
              step={1}
              value={value.bytes}
              onInput={(event) => set({ bytes: event.currentTarget.value })}
              placeholder="any number"
            />
          </label>
          <label class="field">
            <span class="label">Counted</span>
            <select
              value={value.period}
              onChange={(event) => set({ period: event.currentTarget.value as LimitTexts['period'] })}
            >
              <option value="day">each day (UTC)</option>
              <option value="month">each month (UTC)</option>
              <option value="total">in all</option>
            </select>
          </label>
        </div>
      </fieldset>
    </>
  );
}
