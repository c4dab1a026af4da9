import { useEffect, useRef, useState } from 'preact/hooks';
import { callText } from '../api/client';
import { Chart } from '../parts/chart';
import { usePolling } from '../state/polling';
import { percentileMs, rate, type Reading, readingFrom } from './traffic';

const POLL_MS = 2000;
/** What the charts show of the past. */
const SPAN_SECONDS = 180;

interface Point {
  second: number;
  searches: number;
  writes: number;
  errors: number;
  p50: number | null;
  p99: number | null;
}

/** Rates and latencies of this server, as they are now. */
export function TrafficPanel() {
  const points = usePoints();
  if (points === null) return null;
  const times = points.map(({ second }) => second);
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
          format={(value) => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`)}
          lines={[
            { label: 'half below', colour: '--accent', values: points.map(({ p50 }) => p50) },
            { label: '99 % below', colour: '--warn', values: points.map(({ p99 }) => p99) },
          ]}
        />
      </div>
    </section>
  );
}

/** A point between each two readings; null where the server does not tell. */
function usePoints(): Point[] | null {
  const polled = usePolling('traffic', POLL_MS, async (signal): Promise<Reading> => readingFrom(await callText('/metrics', signal), Date.now() / 1000));
  const last = useRef<Reading | null>(null);
  const [points, setPoints] = useState<Point[]>([]);
  const now = polled.data;
  useEffect(() => {
    if (now === null) return;
    const before = last.current;
    last.current = now;
    // A server that was started again counts from 0.
    if (before === null || now.second <= before.second || now.searches < before.searches) return;
    const point: Point = {
      second: now.second,
      searches: rate(before, now, 'searches'),
      writes: rate(before, now, 'writes'),
      errors: rate(before, now, 'errors'),
      p50: percentileMs(before, now, 0.5),
      p99: percentileMs(before, now, 0.99),
    };
    setPoints((all) => [...all.filter(({ second }) => second > now.second - SPAN_SECONDS), point]);
  }, [now]);
  return now === null ? null : points;
}
