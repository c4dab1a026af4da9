import { useRef } from 'preact/hooks';
import { call } from '../api/client';
import { PlusIcon } from '../parts/icons';
import { usePolling } from '../state/polling';
import { VariantForm } from './variant-form';
import { type Variant, VARIANTS_MAX } from './variants';

const HITS_MAX = 100;

interface VariantListProps {
  variants: Variant[];
  /** How many hits of each query count. */
  k: number;
  onVariants: (variants: Variant[]) => void;
  onK: (k: number) => void;
}

/** The searches that are compared; the first is what the others are measured against. */
export function VariantList({ variants, k, onVariants, onK }: VariantListProps) {
  const health = usePolling('health', 0, (signal) => call<'get_health'>('GET', '/v1/health', { signal })).data;
  const keys = useRowKeys(variants.length);
  const change = (next: Variant[], order: number[]): void => {
    keys.arrange(order);
    onVariants(next);
  };
  const places = variants.map((_, i) => i);
  return (
    <section class="card" aria-label="Variants">
      <div class="card-head">
        <h2>Variants</h2>
        <span class="quiet small">the others are measured against the first</span>
        <span class="actions">
          <label class="check">
            <span class="quiet">Hits that count</span>
            <input
              type="number"
              class="hits-that-count"
              min={1}
              max={HITS_MAX}
              step={1}
              value={k}
              required
              onInput={(event) => {
                const { valueAsNumber } = event.currentTarget;
                if (valueAsNumber >= 1) onK(Math.min(HITS_MAX, Math.floor(valueAsNumber)));
              }}
            />
          </label>
        </span>
      </div>
      <div class="card-body stack">
        {variants.map((variant, i) => (
          <VariantForm
            key={keys.of[i]}
            variant={variant}
            number={i + 1}
            isOnly={variants.length === 1}
            models={health?.rerank.models ?? []}
            onChange={(next) => onVariants(variants.with(i, next))}
            onCopy={() =>
              change(variants.toSpliced(i + 1, 0, { ...variant, name: '' }), places.toSpliced(i + 1, 0, -1))
            }
            onFirst={() => change([variant, ...variants.toSpliced(i, 1)], [i, ...places.toSpliced(i, 1)])}
            onRemove={() => change(variants.toSpliced(i, 1), places.toSpliced(i, 1))}
          />
        ))}
        <div class="row">
          <button
            type="button"
            disabled={variants.length >= VARIANTS_MAX}
            onClick={() => change([...variants, { name: '', options: {} }], [...places, -1])}
          >
            <PlusIcon />
            Variant
          </button>
        </div>
      </div>
    </section>
  );
}

/** Names of rows that stay with them when they are moved, so that what is being typed does. */
function useRowKeys(length: number): { of: number[]; arrange: (order: number[]) => void } {
  const state = useRef({ keys: [] as number[], next: 0 });
  const { current } = state;
  const made = (): number => (current.next += 1);
  while (current.keys.length < length) current.keys.push(made());
  current.keys.length = length;
  return {
    of: current.keys,
    /** Which row comes from which; -1: it is new. */
    arrange: (order) => {
      current.keys = order.map((from) => current.keys[from] ?? made());
    },
  };
}
