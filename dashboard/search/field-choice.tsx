interface FieldChoiceProps {
  /** Paths that hits have had. */
  known: string[];
  /** Those that hits carry; null: all. */
  chosen: string[] | null;
  onChange: (chosen: string[] | null) => void;
}

/** Which metadata hits carry. */
export function FieldChoice({ known, chosen, onChange }: FieldChoiceProps) {
  const offered = [...new Set([...known, ...(chosen ?? [])])].sort();
  if (offered.length === 0) return null;
  const choose = (path: string, isChosen: boolean): void => {
    const next = offered.filter((one) => (one === path ? isChosen : (chosen ?? offered).includes(one)));
    onChange(next.length === offered.length ? null : next);
  };
  return (
    <details>
      <summary>Fields: {chosen === null ? 'all' : chosen.length === 0 ? 'none' : chosen.join(', ')}</summary>
      <div class="row" role="group" aria-label="Metadata of hits">
        {offered.map((path) => (
          <label key={path} class="check">
            <input
              type="checkbox"
              checked={chosen === null || chosen.includes(path)}
              onChange={(event) => choose(path, event.currentTarget.checked)}
            />
            <span class="break">{path}</span>
          </label>
        ))}
        {chosen !== null && (
          <button type="button" class="plain tight" onClick={() => onChange(null)}>
            All fields
          </button>
        )}
      </div>
    </details>
  );
}
