interface GroupChoiceProps {
  /** Paths that hits have had. */
  known: string[];
  /** By whose values hits are grouped; null: they are not. */
  chosen: string | null;
  onChange: (chosen: string | null) => void;
}

/** By which field hits are grouped. */
export function GroupChoice({ known, chosen, onChange }: GroupChoiceProps) {
  const offered = [...new Set([...known, ...(chosen === null ? [] : [chosen])])].sort();
  if (offered.length === 0) return null;
  return (
    <label class="check">
      <span class="quiet">Group by</span>
      <select
        // An index, since a path may be any text.
        value={chosen === null ? '' : String(offered.indexOf(chosen))}
        onChange={(event) => onChange(offered[Number(event.currentTarget.value || -1)] ?? null)}
      >
        <option value="">nothing</option>
        {offered.map((path, i) => (
          <option key={path} value={String(i)}>
            {path}
          </option>
        ))}
      </select>
    </label>
  );
}
