import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupDriver } from '../../../coordinator/jobs/backup/backup-driver';
import { CollectionHistories } from '../../../coordinator/jobs/backup/collection-histories';
import { ShippedLogs } from '../../../coordinator/jobs/backup/shipped-logs';
import type { Resharder } from '../../../coordinator/jobs/reshard/resharder';
import { ONLY_DRIVER } from '../../../coordinator/jobs/driving/owned-entry';
import type { RunningService } from '../../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { LocalShardClient } from '../../../node/engine/shard/local-shard-client';
import { ShardHost } from '../../../node/engine/shard/opening/shard-host';
import { LogShipping } from '../../../node/replication/shipping/log-shipping';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { type Logger, silentLogger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { Pace } from '../../../shared/base/time/pace';
import { plainService } from '../shards/plain-service';
import { LogMemory, openRocksStore, plainFactories } from '../shards/shard-node';
import { DATA_PARENT } from '../memory-folder';

const TARGET = 'file:/of-this-test';
const NOBODY = { ended: () => undefined, unreadable: () => undefined, newest: () => undefined };

/**
 * An embedded process without its API, in a folder that outlives it: real shards that keep their writes for shipping, a
 * service over them, and whoever drives reshards, backups and restores. It ships, and tells which collections there
 * are, when it is told to.
 */
export class ShippingProcess {
  private readonly folder = mkdtempSync(join(DATA_PARENT, 'quiver-moments-'));
  private readonly copies: string[] = [];
  store!: ClusterStore;
  host!: ShardHost;
  service!: RunningService;
  private shipping!: LogShipping;
  private histories!: CollectionHistories;
  private resharder!: Resharder;
  private backups!: BackupDriver;
  private looks = 0;

  constructor(private readonly parts: { target: BackupTarget; clock: Clock }) {}

  async start(): Promise<this> {
    const { target, clock } = this.parts;
    const wallMs = (): number => clock.wallMs();
    const log = silentLogger as Logger;
    this.store = await KeyValueClusterStore.open({ store: await openRocksStore(join(this.folder, 'cluster')) });
    this.host = await ShardHost.start(join(this.folder, 'node'), {
      factories: plainFactories,
      openStore: openRocksStore,
      recallTarget: 0.99,
      buildThreads: 1,
      logger: new LogMemory(),
      openShardsMax: Infinity,
      wallMs,
      backups: { open: () => target, pace: new Pace(Infinity), log: 'own', wallMs },
      beforeDrop: (one) => this.shipping.shipRest(one),
    });
    this.shipping = new LogShipping({
      member: 'node-0',
      logs: () => this.host.logs(),
      target,
      pace: new Pace(Infinity),
      clock,
      everyMs: 1_000,
      log,
    });
    // It looks whenever it is asked to.
    const hurried = { wallMs, monotonicMs: () => (this.looks += 1) * 60_000 };
    this.histories = new CollectionHistories({ store: this.store, logs: new ShippedLogs(target), clock: hurried, log });
    const shardClient = new LocalShardClient({ host: this.host, clock });
    const { service } = await plainService({
      store: this.store,
      shardClient,
      clock,
      environment: { BACKUP_TARGET: TARGET },
      openTarget: () => target,
    });
    this.service = service;
    await this.drive();
    return this;
  }

  /** Whoever drives is another one from now on. */
  async replaceDrivers(): Promise<void> {
    await this.leave();
    this.histories.forget();
    await this.drive();
  }

  ship(): Promise<void> {
    return this.shipping.round();
  }

  /** What waits for the target is given up, to make room. */
  giveUp(): void {
    for (const log of this.host.logs()) log.giveUp(Infinity);
  }

  /** Tells which collections there are. */
  look(): Promise<void> {
    return this.histories.look();
  }

  /** `ships`: in order, so that what was written is in the target. */
  async stop(ships: boolean): Promise<void> {
    await this.leave();
    if (ships) await this.shipping.close();
    this.service.close();
    await this.host.close();
    await this.store.close();
  }

  /** The data as they are, while it is stopped; answers what puts them back. */
  copy(): () => void {
    const copy = mkdtempSync(join(DATA_PARENT, 'quiver-moments-copy-'));
    this.copies.push(copy);
    cpSync(this.folder, copy, { recursive: true });
    return () => {
      rmSync(this.folder, { recursive: true });
      cpSync(copy, this.folder, { recursive: true });
    };
  }

  async end(): Promise<void> {
    await this.stop(false);
    for (const one of [this.folder, ...this.copies]) rmSync(one, { recursive: true, force: true });
  }

  private async drive(): Promise<void> {
    this.resharder = await this.service.driveReshards(ONLY_DRIVER, 0);
    this.backups = await this.service.driveBackups(ONLY_DRIVER, NOBODY);
  }

  private async leave(): Promise<void> {
    await Promise.all([this.backups.close(), this.resharder.close()]);
  }
}
