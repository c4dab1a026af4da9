import type { ActivityService, RateView, SlowRequest } from '../../cluster/operations/activity-service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import * as schemas from '../schema/activity-schemas';

function ratesData({ perSecond, errorsPerSecond, p50Ms, p99Ms, total, errors }: RateView) {
  return { per_second: perSecond, errors_per_second: errorsPerSecond, p50_ms: p50Ms, p99_ms: p99Ms, total, errors };
}

function slowData({ at, method, endpoint, collection, code, ms, keyId, requestId }: SlowRequest) {
  return { at, method, endpoint, collection, code, ms, key_id: keyId, request_id: requestId };
}

const NO_PROCESS = { id: null, pid: null, uptimeSeconds: 0, memoryBytes: 0, heapBytes: 0, processors: 0 };

/** As of a process that nobody asks anything. */
const NO_RATES = ratesData({ perSecond: 0, errorsPerSecond: 0, p50Ms: null, p99Ms: null, total: 0, errors: 0 });

export function activityEndpoints({ activity }: { activity: ActivityService }): Endpoint[] {
  return [
    defineEndpoint({
      method: 'GET',
      template: '/v1/metrics/summary',
      isWatched: true,
      access: 'readonly',
      collections: { type: 'own' },
      sheds: false,
      tag: 'Operations',
      summary: 'What this process does at present: rates, times, and slow requests',
      description:
        'Of the process that answers: a coordinator, or the one of the embedded form. Cheap enough to be asked ' +
        'every second. `/metrics` has more of it, and `/v1/cluster` the nodes. Which process it is, and slow ' +
        'requests, are shown to admins; all that is of the whole process, its memory too, to all but keys that ' +
        'are limited to collections, who get zeros and empty lists.',
      answer: { type: 'data', schema: schemas.activityAnswer },
      handle: async ({ key }) => {
        const {
          process,
          rateSeconds,
          quantileSeconds,
          requests,
          operations,
          embedding,
          inFlight,
          bodyBytes,
          shed,
          slow,
          slowMs,
        } = await activity.activity();
        // What others do is none of their business, nor is how much.
        const isLimited = key !== null && key.collections !== null;
        const isAdmin = key?.role === 'admin';
        const { id, pid, uptimeSeconds, memoryBytes, heapBytes, processors } = isLimited ? NO_PROCESS : process;
        return dataAnswer({
          process: {
            id: isAdmin ? id : null,
            pid: isAdmin ? pid : null,
            uptime_seconds: uptimeSeconds,
            memory_bytes: memoryBytes,
            heap_bytes: heapBytes,
            processors,
          },
          // How long the process runs, where that is short.
          rate_seconds: isLimited ? 0 : rateSeconds,
          quantile_seconds: isLimited ? 0 : quantileSeconds,
          requests: isLimited ? NO_RATES : ratesData(requests),
          operations: isLimited ? [] : operations.map(({ endpoint, ...rates }) => ({ endpoint, ...ratesData(rates) })),
          embedding: isLimited ? [] : embedding.map(({ kind, ...rates }) => ({ kind, ...ratesData(rates) })),
          in_flight: isLimited ? 0 : inFlight,
          body_bytes: isLimited ? 0 : bodyBytes,
          shed_total: isLimited ? 0 : shed,
          slow_ms: slowMs,
          slow_requests: isAdmin ? slow.map(slowData) : null,
        });
      },
    }),
  ];
}
