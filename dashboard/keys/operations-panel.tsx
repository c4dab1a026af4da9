import { BASE } from '../api/base';
import { call } from '../api/client';
import { count, seconds } from '../parts/format';
import { usePolling } from '../state/polling';

const POLL_MS = 10_000;

/** How the service is, beside its keys. */
export function OperationsPanel() {
  const health = usePolling('health', POLL_MS, (signal) => call<'get_health'>('GET', '/v1/health', { signal }));
  if (health.data === null) return null;
  const { total_vectors: vectors, uptime_seconds: uptime, unavailable, embedding } = health.data;
  return (
    <section class="card" aria-labelledby="service-title">
      <div class="card-head">
        <h2 id="service-title">Service</h2>
        <a class="small" href={`${BASE}/docs/`}>
          API explorer
        </a>
        <a class="small" href={`${BASE}/ui/licenses.txt`}>
          Licences of this page
        </a>
      </div>
      <div class="card-body stack">
        <dl class="big-numbers">
          <div>
            <dt>Up for</dt>
            <dd class="number">{seconds(uptime)}</dd>
          </div>
          <div>
            <dt>Vectors</dt>
            <dd class="number">{count(vectors)}</dd>
          </div>
          <div>
            <dt>Model of texts</dt>
            <dd class="break">{embedding.active}</dd>
          </div>
        </dl>
        {unavailable.length > 0 && (
          <ul class="notice warn break">
            {unavailable.map(({ collection, shard, reason }) => (
              <li key={`${collection}/${shard}`}>
                Shard {shard} of {collection} does not answer: {reason}
              </li>
            ))}
          </ul>
        )}
        {embedding.fallback_reason !== null && (
          <p class="notice warn break">
            {embedding.configured} could not be loaded, and {embedding.active} stands in: {embedding.fallback_reason}
          </p>
        )}
      </div>
    </section>
  );
}
