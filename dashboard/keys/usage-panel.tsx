import type { ApiKey, Usage } from '../api/shapes';
import { count, dateTime } from '../parts/format';
import { Failure } from '../parts/notice';
import { usePolling } from '../state/polling';

const POLL_MS = 10_000;
/** Endpoints with the most requests; the others are a line together. */
const BARS_MAX = 10;

interface UsagePanelProps {
  /** Null: all keys together. */
  of: ApiKey | null;
  keys: ApiKey[];
  onChoose: (key: ApiKey | null) => void;
  load: (key: ApiKey | null, stop: AbortSignal) => Promise<Usage>;
}

export function UsagePanel({ of, keys, onChoose, load }: UsagePanelProps) {
  const usage = usePolling(`usage/${of?.id ?? 'all'}`, POLL_MS, (stop) => load(of, stop));
  return (
    <section class="card" aria-labelledby="usage-title">
      <div class="card-head">
        <h2 id="usage-title">Usage</h2>
        <select
          aria-label="Usage of"
          value={of?.id ?? ''}
          onChange={(event) => onChoose(keys.find(({ id }) => String(id) === event.currentTarget.value) ?? null)}
        >
          <option value="">all keys</option>
          {keys.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div class="card-body stack">
        <Failure error={usage.error} />
        {usage.data !== null && <Numbers usage={usage.data} />}
        {usage.data !== null && <Bars usage={usage.data} />}
      </div>
    </section>
  );
}

function Numbers({ usage }: { usage: Usage }) {
  const facts = {
    'Last 24 hours': usage.last_24h,
    'Last 7 days': usage.last_7d,
    'Last 30 days': usage.last_30d,
    Ever: usage.total_requests,
  };
  return (
    <dl class="big-numbers">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="number">{count(value)}</dd>
        </div>
      ))}
      <div>
        <dt>Last request</dt>
        <dd class="number">{dateTime(usage.last_request_at)}</dd>
      </div>
    </dl>
  );
}

function Bars({ usage }: { usage: Usage }) {
  const all = Object.entries(usage.by_endpoint).sort(([, a], [, b]) => b - a);
  const most = all[0]?.[1] ?? 1;
  const rest = all.slice(BARS_MAX).reduce((sum, [, value]) => sum + value, 0);
  const rows = rest > 0 ? [...all.slice(0, BARS_MAX), [`${all.length - BARS_MAX} others`, rest] as const] : all;
  if (rows.length === 0) return <p class="quiet">No requests yet.</p>;
  return (
    <ul class="bars" aria-label="Requests by endpoint">
      {rows.map(([endpoint, value]) => (
        <li key={endpoint}>
          <code class="break">{endpoint}</code>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${Math.max(0.5, (Math.min(value, most) / most) * 100)}%` }} />
          </span>
          <span class="number">{count(value)}</span>
        </li>
      ))}
    </ul>
  );
}
