import { ApiProcess } from '../../../coordinator/api-process';
import { ONLY_DRIVER } from '../../../coordinator/driving/owned-entry';
import { ProcessLimiter } from '../../../coordinator/limits/process-limiter';
import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { EmbeddedOperations } from '../../../embedded/embedded-operations';
import { MemoryKeyValueStore } from '../../../node/kv/memory-key-value-store';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readConfig } from '../../../shared/config/config';
import { isQuiverError, QuiverError } from '../../../shared/errors/quiver-error';
import { ProcessMetrics } from '../../../shared/metrics/process-metrics';
import { Endings } from '../../../shared/process/endings';
import { systemClock } from '../../../shared/time/clock';
import { sharedClock } from '../../../shared/time/shared-clock';
import { silentLogger } from '../../../shared/logs/logger';
import { UNBOUNDED } from '../../support/plain-service';
import { PlainShardClient } from '../../support/plain-shard-client';

/** A cluster store that is away for one call: the `failing`th from now on, which is done or not. It counts who follows it. */
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

/** Starts as a coordinator does, over a store that is away for a moment. */
async function start(outage: BriefOutage): Promise<{ port: number; secret: string | null; repeated: number; end: () => Promise<void> }> {
  const config = { ...readConfig({ EMBEDDING_MODEL: 'builtin', HTTP_THREADS: '1' }, 1), port: 0, host: '127.0.0.1' };
  const endings = new Endings();
  const metrics = new ProcessMetrics({ identity: { role: 'coordinator', member: 'c', version: '0' }, onMeasureError: () => undefined });
  const named = { config, clock: systemClock, log: silentLogger, instanceId: 'i', coordinatorId: 'c' };
  const api = new ApiProcess({ ...named, endings, ending: new AbortController().signal, metrics, traces: null });
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
  const { port, first } = await api.serve({
    clusterStore: outage.store,
    shardClient: Object.assign(new PlainShardClient({ clock: systemClock }), { searchNow: () => null }),
    rateLimiter: limiter,
    localLimiter: limiter,
    addressLimiter: limiter,
    quota: UNBOUNDED,
    connections: { connectionsMax: 10, isShort: () => false },
    fronts: { entry: '', follow: () => () => undefined },
    operations: (service, embedding) =>
      new EmbeddedOperations({
        process: { coordinatorId: 'c', nodeId: 'n', address: 'local', zone: '', pid: process.pid },
        clock: systemClock,
        collections: () => service.collections.list(),
        shards: () => service.readShards(),
        reshards: () => service.reshards(),
        newShards: () => service.readNewShards(),
        embedding: () => embedding.status(),
      }),
    reached,
    recover: async (service) => {
      await reached(() => service.follow());
      const resharder = await reached(() => service.driveReshards(ONLY_DRIVER, 0));
      endings.defer(() => resharder.close());
      const backups = await reached(() => service.driveBackups(ONLY_DRIVER, api.backupMetrics));
      endings.defer(() => backups.close());
    },
  });
  return { port, secret: first?.secret ?? null, repeated, end: () => endings.unwind() };
}

test.each([false, true])('whenever the cluster store goes away during a start, for a moment, the process starts, drives once, and has its first key (the call is done: %s)', async (isDone) => {
  let following = 0;
  let calls = 0;
  for (let failing = 0; failing <= calls; failing += 1) {
    const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    const outage = new BriefOutage(inner);
    Object.assign(outage, { failing, isDone });
    const { port, secret, repeated, end } = await start(outage);
    // The first run has no outage: it shows how many calls there are, and who follows.
    if (failing === 0) [calls, following] = [outage.calls, outage.following];
    expect({ failing, repeated, following: outage.following }).toEqual({ failing, repeated: failing === 0 ? 0 : 1, following });
    const answer = await fetch(`http://127.0.0.1:${port}/v1/admin/keys`, { headers: { 'x-api-key': secret! } });
    expect(await answer.json()).toMatchObject({ status: 'success', data: { keys: [{ id: 1 }] } });
    await end();
    expect(outage.following).toBe(0);
    await inner.close();
  }
  expect(calls).toBeGreaterThan(5);
});
