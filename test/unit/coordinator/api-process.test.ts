import { StoreFiles } from '../../../coordinator/jobs/documents/store-files';
import { MemoryTarget } from '../../support/targets/memory-target';
import { ApiProcess } from '../../../coordinator/api-process';
import { ONLY_DRIVER } from '../../../coordinator/jobs/driving/owned-entry';
import { ProcessLimiter } from '../../../coordinator/service/limits/process-limiter';
import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { EmbeddedOperations } from '../../../embedded/embedded-operations';
import { MemoryKeyValueStore } from '../../support/models/memory-key-value-store';
import type { RunningService } from '../../../coordinator/service-factory';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readConfig } from '../../../shared/base/config/config';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import { ShutdownStack } from '../../../shared/base/process/shutdown-stack';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import { systemClock } from '../../../shared/base/time/clock';
import { sharedClock } from '../../../shared/base/time/shared-clock';
import { LineOutput } from '../../../shared/base/process/line-output';
import { silentLogger } from '../../../shared/base/logs/logger';
import { UNBOUNDED } from '../../support/shards/plain-service';
import { PlainShardClient } from '../../support/shards/plain-shard-client';

/** More than are opened at once. */
const COLLECTIONS = 20;

/**
 * A cluster store that is away for one call: the `failing`th from now on, which is done or not. It counts who follows
 * it.
 */
class BriefOutage {
  calls = 0;
  following = 0;
  failing = 0;
  isDone = false;

  constructor(private readonly inner: ClusterStore) {}

  readonly store: ClusterStore = {
    get: (key) => this.call(() => this.inner.get(key)),
    list: (prefix) => this.call(() => this.inner.list(prefix)),
    transact: (guards, changes) => this.call(() => this.inner.transact(guards, changes)),
    watch: (prefix, after, listener) => {
      this.following += 1;
      const stop = this.inner.watch(prefix, after, listener);
      return () => {
        this.following -= 1;
        stop();
      };
    },
    close: () => this.inner.close(),
  };

  private async call<Result>(run: () => Promise<Result>): Promise<Result> {
    this.calls += 1;
    if (this.calls !== this.failing) return run();
    if (this.isDone) await run();
    throw new QuiverError(this.isDone ? 'commit_unknown' : 'unavailable', 'the cluster store went away');
  }
}

interface Started {
  port: number;
  secret: string | null;
  repeated: number;
  end: () => Promise<void>;
}

/** What differs from a start that nothing interrupts. */
interface Interruption {
  shardClient: ShardClient;
  stopSignal: AbortSignal;
  recover: (service: RunningService) => Promise<void>;
}

/** Starts as a coordinator does, over a store that is away for a moment. */
async function start(outage: BriefOutage, given: Partial<Interruption> = {}): Promise<Started> {
  const config = { ...readConfig({ EMBEDDING_MODEL: 'builtin', HTTP_THREADS: '1' }, 1), port: 0, host: '127.0.0.1' };
  const shutdown = new ShutdownStack();
  const metrics = new ProcessMetrics({
    identity: { role: 'coordinator', member: 'c', version: '0' },
    onMeasureError: () => undefined,
  });
  const named = { config, clock: systemClock, log: silentLogger, instanceId: 'i', coordinatorId: 'c' };
  const api = new ApiProcess({
    ...named,
    shutdown,
    stopSignal: given.stopSignal ?? new AbortController().signal,
    metrics,
    traces: null,
    output: new LineOutput({ file: 1, mayBlock: false }),
  });
  let repeated = 0;
  const reached = async <Result>(attempt: () => Promise<Result>): Promise<Result> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isQuiverError(error) || !error.retryable) throw error;
        repeated += 1;
      }
    }
  };
  const limiter = new ProcessLimiter({ limit: 0, clock: sharedClock });
  const serving = api.serve({
    clusterStore: outage.store,
    shardClient: Object.assign(given.shardClient ?? new PlainShardClient({ clock: systemClock }), {
      searchNow: () => null,
    }),
    rateLimiter: limiter,
    localLimiter: limiter,
    addressLimiter: limiter,
    quota: UNBOUNDED,
    connections: { connectionsMax: 10, isShort: () => false },
    openTarget: () => new MemoryTarget(),
    documentFiles: new StoreFiles(outage.store),
    httpThreads: { entry: '', follow: () => () => undefined },
    operations: (service, embedding) =>
      new EmbeddedOperations({
        process: { coordinatorId: 'c', nodeId: 'n', address: 'local', zone: '', pid: process.pid },
        clock: systemClock,
        collections: () => service.collections.list(),
        shards: () => service.readShards(),
        reshards: () => service.reshards(),
        newShards: () => service.readNewShards(),
        embedding: () => embedding.status(),
        rerankModels: [],
      }),
    reached,
    recover: async (service) => {
      if (given.recover !== undefined) return given.recover(service);
      await reached(() => service.follow());
      const resharder = await reached(() => service.driveReshards(ONLY_DRIVER, 0));
      shutdown.defer(() => resharder.close());
      const backups = await reached(() => service.driveBackups(ONLY_DRIVER, api.backupMetrics));
      shutdown.defer(() => backups.close());
    },
  });
  const { port, first } = await serving.catch(async (error: unknown) => {
    await shutdown.unwind();
    throw error;
  });
  return { port, secret: first?.secret ?? null, repeated, end: () => shutdown.unwind() };
}

test.each([false, true])(
  'whenever the cluster store goes away during a start, for a moment, the process starts, drives once, and has its first key (the call is done: %s)',
  async (isDone) => {
    let following = 0;
    let calls = 0;
    for (let failing = 0; failing <= calls; failing += 1) {
      const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
      const outage = new BriefOutage(inner);
      Object.assign(outage, { failing, isDone });
      const { port, secret, repeated, end } = await start(outage);
      // The first run has no outage: it shows how many calls there are, and who follows.
      if (failing === 0) [calls, following] = [outage.calls, outage.following];
      expect({ failing, repeated, following: outage.following }).toEqual({
        failing,
        repeated: failing === 0 ? 0 : 1,
        following,
      });
      const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/keys`, { headers: { 'x-api-key': secret! } });
      expect(await answer.json()).toMatchObject({ status: 'success', data: { keys: [{ id: 1 }] } });
      await end();
      expect(outage.following).toBe(0);
      await inner.close();
    }
    expect(calls).toBeGreaterThan(5);
  },
);

test('a process that is asked to end while it opens its collections opens no more, drives nothing and serves nobody', async () => {
  const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const outage = new BriefOutage(inner);
  const before = await start(outage);
  for (let i = 0; i < COLLECTIONS; i += 1) {
    const body = JSON.stringify({ name: `c${i}`, dim: 2 });
    const created = await fetch(`http://127.0.0.1:${before.port}/v1/collections`, {
      method: 'POST',
      headers: { 'x-api-key': before.secret!, 'content-type': 'application/json' },
      body,
    });
    expect(await created.json()).toMatchObject({ status: 'success' });
  }
  await before.end();

  const stopSignal = new AbortController();
  const shardClient = new PlainShardClient({ clock: systemClock });
  const open = shardClient.open.bind(shardClient);
  let opened = 0;
  shardClient.open = async (spec) => {
    opened += 1;
    stopSignal.abort();
    return open(spec);
  };
  let isDriven = false;
  const recover = (service: RunningService): Promise<void> =>
    service.recover({
      stop: stopSignal.signal,
      onOpened: async () => {
        isDriven = true;
      },
    });
  await expect(start(outage, { shardClient, stopSignal: stopSignal.signal, recover })).rejects.toMatchObject({
    kind: 'unavailable',
  });
  expect({ isDriven, following: outage.following }).toEqual({ isDriven: false, following: 0 });
  expect(opened).toBeGreaterThan(0);
  expect(opened).toBeLessThan(COLLECTIONS);
  await inner.close();
});
