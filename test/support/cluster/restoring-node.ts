import { TEST_SEALS } from './test-seals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackupDriver } from '../../../coordinator/jobs/backup/backup-driver';
import type { BackupObserver } from '../../../coordinator/jobs/backup/backup-observer';
import type { Resharder } from '../../../coordinator/jobs/reshard/resharder';
import { type DriverLeadership, ONLY_DRIVER } from '../../../coordinator/jobs/driving/owned-entry';
import type { NewRestore, RestoreView } from '../../../coordinator/service/service';
import type { RunningService } from '../../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../models/memory-key-value-store';
import { FolderTarget } from '../../../shared/backup-store/folder-target';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import { Pace } from '../../../shared/base/time/pace';
import { eventually } from '../eventually';
import { type PlainEmbedding, plainService } from '../shards/plain-service';
import { openRocksStore, plainFactories, ShardNode } from '../shards/shard-node';

const NOBODY: BackupObserver = { ended: () => undefined, unreadable: () => undefined, newest: () => undefined };

/** Whoever drives reshards and restores. */
export class Drivers {
  private constructor(
    private readonly resharder: Resharder,
    private readonly backups: BackupDriver,
  ) {}

  static async start(service: RunningService, leadership: DriverLeadership = ONLY_DRIVER): Promise<Drivers> {
    return new Drivers(await service.driveReshards(leadership, 0), await service.driveBackups(leadership, NOBODY));
  }

  async close(): Promise<void> {
    await Promise.all([this.backups.close(), this.resharder.close()]);
  }
}

/** Real shards and a cluster store in memory, with services over them that take backups into a folder. */
export class RestoringNode {
  readonly node: ShardNode;
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-restoring-'));
  readonly target = `file:${this.folder}`;
  private readonly services: RunningService[] = [];

  private constructor(readonly store: ClusterStore) {
    const place = new FolderTarget(this.target, this.folder, TEST_SEALS);
    this.node = new ShardNode({
      factories: plainFactories,
      openStore: openRocksStore,
      backups: { open: () => place, pace: new Pace(1e12) },
    });
  }

  /** The shards, also after their process has started again. */
  readonly client: ShardClient = {
    make: (spec) => this.node.client.make(spec),
    open: (spec) => this.node.client.open(spec),
    drop: (id) => this.node.client.drop(id),
    read: (id, kind, request, call) => this.node.client.read(id, kind, request, call),
    write: (id, operations, call) => this.node.client.write(id, operations, call),
  };

  static async start(): Promise<RestoringNode> {
    const made = new RestoringNode(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
    await made.node.start();
    return made;
  }

  /** A service as a process has it: with its own view of the shards and of the store. */
  async service(
    view: { shardClient?: ShardClient; store?: ClusterStore; embedding?: PlainEmbedding } = {},
  ): Promise<RunningService> {
    const environment = { BACKUP_TARGET: this.target };
    const { service } = await plainService({ shardClient: this.client, store: this.store, environment, ...view });
    this.services.push(service);
    return service;
  }

  async end(): Promise<void> {
    for (const service of this.services) service.close();
    await this.node.destroy();
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Takes a backup of everything; answers its id. */
export async function backedUp({ backups }: RunningService): Promise<string> {
  const { id } = await backups.create({});
  await eventually('the backup is there', async () => (await backups.get(id)).state === 'done');
  return id;
}

/** A restore once it is over, however it ended. */
export async function restoredBy(
  { backups }: RunningService,
  input: Partial<NewRestore> & { backup: string },
): Promise<RestoreView> {
  const { id } = await backups.restore({ rename: {}, keys: false, ...input });
  return restoreEnded(backups, id);
}

export async function restoreEnded(backups: RunningService['backups'], id: string): Promise<RestoreView> {
  let last: RestoreView | null = null;
  await eventually('the restore is over', async () =>
    ['done', 'failed'].includes((last = await backups.restoreState(id)).state),
  );
  return last!;
}
