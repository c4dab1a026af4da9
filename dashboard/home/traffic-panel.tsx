import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client';
import { Chart } from '../parts/chart';
import { bytes, milliseconds } from '../parts/format';
import { usePolling } from '../state/polling';
import { type Traffic, trafficOf } from './traffic';

/** Each costs one of the key's requests. */
const POLL_MS = 5000;
/** What the charts show of the past. */
const SPAN_SECONDS = 180;

/** What was seen so far: somebody who comes back to the page finds it there. */
let seen: Traffic[] = [];

/** Rates and latencies of the process that answers, as they are now. */
export function TrafficPanel() {
  const activity = usePolling('activity', POLL_MS, (signal) =>
    call<'get_metrics_summary'>('GET', '/v1/metrics/summary', { signal }),
  ).data;
  const [points, setPoints] = useState(seen);
  useEffect(() => {
    if (activity === null) return;
    const now = trafficOf(activity, Date.now() / 1000);
    seen = [...seen.filter(({ second }) => second > now.second - SPAN_SECONDS), now];
    setPoints(seen);
  }, [activity]);
  if (activity === null) return null;
  const times = points.map(({ second }) => second);
  const { memory_bytes: memory, processors } = activity.process;
  return (
    <section class="columns two" aria-label="Traffic">
      <div class="card card-body">
        <Chart
          title="Requests a second"
          times={times}
          spanSeconds={SPAN_SECONDS}
          format={(value) => (value >= 100 ? String(Math.round(value)) : value.toFixed(1))}
          lines={[
            { label: 'searches', colour: '--accent', values: points.map(({ searches }) => searches) },
            { label: 'writes', colour: '--good', values: points.map(({ writes }) => writes) },
            { label: 'errors', colour: '--bad', values: points.map(({ errors }) => errors) },
          ]}
        />
      </div>
      <div class="card card-body">
        <Chart
          title="Latency of searches"
          times={times}
          spanSeconds={SPAN_SECONDS}
          format={(value) => (value === 0 ? '0' : milliseconds(value))}
          lines={[
            { label: 'half below', colour: '--accent', values: points.map(({ p50Ms }) => p50Ms) },
            { label: '99 % below', colour: '--warn', values: points.map(({ p99Ms }) => p99Ms) },
          ]}
        />
      </div>
      <p class="quiet small number traffic-said">
        {activity.process.id === null ? '' : `${activity.process.id}: `}
        {bytes(memory)} of memory, {processors.toFixed(1)} processors busy, {activity.in_flight} in flight
        {activity.shed_total > 0 ? `, ${activity.shed_total} refused as too much since the start` : ''}
      </p>
    </section>
  );
}
