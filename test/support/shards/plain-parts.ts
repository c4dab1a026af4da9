import { HttpLoad } from '../../../coordinator/api/load/http-load';
import { ONLY_DRIVER } from '../../../coordinator/jobs/driving/owned-entry';
import type { HttpServerParts } from '../../../coordinator/api/http/http-server';
import type { AnsweredRequest } from '../../../coordinator/api/http/observer';
import { StoreKeysService } from '../../../coordinator/service/keys/store-keys-service';
import { OneTimeSignIn } from '../../../coordinator/service/keys/sign-in';
import { StoreKeyUsage } from '../../../coordinator/service/keys/usage/store-key-usage';
import { ProcessLimiter } from '../../../coordinator/service/limits/process-limiter';
import { RecentActivity } from '../../../coordinator/api/metrics/recent-activity';
import { SlowRequests } from '../../../coordinator/api/metrics/slow-requests';
import type { RunningService } from '../../../coordinator/service-factory';
import { sharedClock } from '../../../shared/base/time/shared-clock';
import { EmbeddedOperations } from '../../../embedded/embedded-operations';
import { type Config, readConfig } from '../../../shared/base/config/config';
import { rerankNamesIn } from '../../../shared/base/config/rerank-models';
import { StepHistogram } from '../../../shared/base/metrics/step-histogram';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { systemClock } from '../../../shared/base/time/clock';
import type { PlainShardClient } from './plain-shard-client';
import { plainService } from './plain-service';

export interface PlainParts {
  config: Config;
  adminKey: string;
  shards: PlainShardClient;
  store: ClusterStore;
  /** What the observer was told, in order. */
  answered: AnsweredRequest[];
  /** What the HTTP layer needs besides its limits. */
  parts: Pick<HttpServerParts, 'operations' | 'observer' | 'clock'> & {
    service: RunningService;
    rateLimiter: ProcessLimiter;
    addressLimiter: ProcessLimiter;
    signIn: OneTimeSignIn;
    activity: RecentActivity;
    keys: StoreKeysService;
    usage: StoreKeyUsage;
    metricsText: NonNullable<HttpServerParts['metricsText']>;
  };
  close(): Promise<void>;
}

/**
 * The services of a process over a plain service: nothing is kept, and shards are searched by brute force.
 * `environment` as for the process.
 */
export async function plainParts(environment: Record<string, string>): Promise<PlainParts> {
  const config = readConfig(
    { EMBEDDING_MODEL: 'builtin', RATE_LIMIT_PER_MINUTE: '0', BAD_KEY_LIMIT_PER_MINUTE: '0', ...environment },
    1,
  );
  const adminKey = 'admin-secret';
  const clock = systemClock;
  const { service, store, shards, embedding, closeModels } = await plainService({ environment });
  const { keys } = await StoreKeysService.open({ store, clock, apiKey: adminKey });
  const usage = new StoreKeyUsage({ store, clock, coordinatorId: 'plain', keys, onFlushError: () => undefined });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  const jobs = await service.driveJobs(ONLY_DRIVER);
  const answered: AnsweredRequest[] = [];
  const operations = new EmbeddedOperations({
    process: { coordinatorId: 'plain', nodeId: 'plain', address: 'local', zone: '', pid: process.pid },
    clock,
    collections: () => service.collections.list(),
    shards: () => service.readShards(),
    reshards: () => service.reshards(),
    newShards: () => service.readNewShards(),
    embedding: () => embedding.status(),
    rerankModels: rerankNamesIn(config.rerankModel),
  });
  const durations = new StepHistogram<string>({
    name: 'durations',
    help: '',
    label: 'endpoint',
    steps: [],
    isOpen: true,
    buckets: [0.001, 0.01, 0.1, 1],
  });
  const counted = {
    bounds: durations.bounds,
    counts: () => durations.read(),
    failures: () => new Map<string, number>(),
  };
  const slow = new SlowRequests({ slowMs: config.logSlowMs, clock });
  const activity = new RecentActivity({
    id: 'plain',
    clock,
    requests: counted,
    embedding: { ...counted, counts: () => new Map() },
    load: new HttpLoad(),
    slow,
  });
  const requestAnswered = (facts: AnsweredRequest): void => {
    answered.push(facts);
    durations.observe(facts.endpoint, facts.durationMs / 1000);
    slow.note(facts);
  };
  return {
    config,
    adminKey,
    shards,
    store,
    answered,
    parts: {
      service,
      keys,
      usage,
      rateLimiter: new ProcessLimiter({ limit: config.rateLimitPerMinute, clock: sharedClock }),
      addressLimiter: new ProcessLimiter({ limit: config.badKeyLimitPerMinute, clock: sharedClock }),
      operations,
      signIn: new OneTimeSignIn({ keys, clock }),
      activity,
      observer: { requestAnswered },
      metricsText: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'vectordb_collections_total 0\n' }),
      clock,
    },
    close: async () => {
      activity.close();
      await resharder.close();
      await jobs.close();
      await usage.close();
      keys.close();
      service.close();
      await closeModels();
    },
  };
}
