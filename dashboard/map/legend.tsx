import { compact } from '../parts/format';
import { type Colouring, RANGE_STOPS } from './colouring';

interface LegendProps {
  field: string;
  colouring: Colouring;
  /** Entries that are shown; null: all. */
  shown: ReadonlySet<number> | null;
  onShown: (shown: ReadonlySet<number> | null) => void;
}

export function Legend({ field, colouring, shown, onShown }: LegendProps) {
  const { kind, legend } = colouring;
  const toggle = (entry: number): void => {
    const next = new Set(shown ?? []);
    if (!next.delete(entry)) next.add(entry);
    onShown(next.size === 0 || next.size === legend.length ? null : next);
  };
  return (
    <section class="card" aria-label={`Colours by ${field}`}>
      <div class="card-head">
        <h2 class="break">{field}</h2>
      </div>
      <div class="card-body">
        {kind === 'range' ? (
          <div>
            <div class="gradient" style={{ background: `linear-gradient(to right, ${RANGE_STOPS.join(', ')})` }} />
            <p class="row gradient-ends number small">
              <span>{legend[0]?.label}</span>
              <span>{legend[1]?.label}</span>
            </p>
          </div>
        ) : (
          <ul class="legend">
            {legend.map(({ label, colour, count }, i) => (
              <li key={label}>
                <button
                  type="button"
                  class="plain"
                  aria-pressed={shown?.has(i) ?? false}
                  onClick={() => toggle(i)}
                  title="Show only these"
                >
                  <span class="swatch" style={{ background: colour }} />
                  <span class="break">{label}</span>
                  <span class="quiet number">{compact(count)}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
