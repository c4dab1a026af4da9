import { call } from '../api/client';
import { usePolling } from '../state/polling';

const POLL_MS = 10_000;

interface RerankChoiceProps {
  /** null: none. */
  chosen: string | null;
  onChange: (chosen: string | null) => void;
}

/** Which model reads the best hits and orders them anew; nothing where the service has none. */
export function RerankChoice({ chosen, onChange }: RerankChoiceProps) {
  const health = usePolling('health', POLL_MS, (signal) => call<'get_health'>('GET', '/v1/health', { signal })).data;
  const offered = [...new Set([...(health?.rerank.models ?? []), ...(chosen === null ? [] : [chosen])])];
  if (offered.length === 0) return null;
  return (
    <label class="check">
      <span class="quiet">Rerank by</span>
      <select
        // An index, since a name may be any text.
        value={chosen === null ? '' : String(offered.indexOf(chosen))}
        onChange={(event) => onChange(offered[Number(event.currentTarget.value || -1)] ?? null)}
      >
        <option value="">nothing</option>
        {offered.map((name, i) => (
          <option key={name} value={String(i)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
