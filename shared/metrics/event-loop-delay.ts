import { Histogram, type Registry } from 'prom-client';

/** Often enough to catch what a person notices, at no cost that can be measured. */
const SAMPLE_MS = 100;
/** From what a timer is late by itself to what clients take for an outage, in seconds. */
const DELAY_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * How late the event loop runs its timers, as a histogram: it can be added up over processes and scrapers, which
 * quantiles since the last scrape can't.
 */
export function observeEventLoopDelay(registry: Registry): void {
  const delays = new Histogram({
    name: 'quiver_event_loop_delay_seconds',
    help: 'How late the event loop ran a timer, sampled ten times a second',
    buckets: DELAY_BUCKETS,
    registers: [registry],
  });
  let expectedMs = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    delays.observe(Math.max(0, nowMs - expectedMs) / 1000);
    expectedMs = nowMs + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
}
