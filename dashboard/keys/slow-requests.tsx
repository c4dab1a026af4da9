import { call } from '../api/client';
import type { ApiKey } from '../api/shapes';
import { dateTime, milliseconds } from '../parts/format';
import { usePolling } from '../state/polling';

const POLL_MS = 10_000;

/** The last requests that took long, of the process that answers. */
export function SlowRequests({ keys }: { keys: ApiKey[] }) {
  const activity = usePolling('slow', POLL_MS, (signal) =>
    call<'get_metrics_summary'>('GET', '/v1/metrics/summary', { signal }),
  ).data;
  if (activity === null) return null;
  const { slow_requests: slow, slow_ms: limit } = activity;
  const nameOf = (id: number | null): string =>
    keys.find((key) => key.id === id)?.name ?? (id === null ? '–' : `key ${id}`);
  return (
    <section class="card" aria-labelledby="slow-title">
      <div class="card-head">
        <h2 id="slow-title">Slow requests</h2>
        <span class="quiet small">
          {milliseconds(limit)} and longer, at {activity.process.id}
        </span>
      </div>
      {slow === null || slow.length === 0 ? (
        <p class="card-body quiet">None since the start.</p>
      ) : (
        <div class="table-box slow" tabIndex={0} role="region" aria-label="Table of slow requests">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Request</th>
                <th scope="col">Collection</th>
                <th scope="col">Key</th>
                <th scope="col">Answer</th>
                <th scope="col" class="number">
                  Took
                </th>
              </tr>
            </thead>
            <tbody>
              {slow.map((one) => (
                <tr key={one.request_id} title={one.request_id}>
                  <td class="number-left">{dateTime(one.at)}</td>
                  <td class="mono">
                    {one.method} {one.endpoint}
                  </td>
                  <td>{one.collection ?? '–'}</td>
                  <td class="break">{nameOf(one.key_id)}</td>
                  <td>
                    <span class={`tag ${one.code === 200 ? 'good' : 'bad'}`}>{one.code}</span>
                  </td>
                  <td class="number">{milliseconds(one.ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
