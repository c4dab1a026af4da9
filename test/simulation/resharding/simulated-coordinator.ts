import { CONTROLLER_PATH } from '../../../shared/cluster-store/entries/members';
import type { ClusterStore, Guard } from '../../../shared/cluster-store/cluster-store';
import type { BackupObserver } from '../../../coordinator/jobs/backup/backup-observer';
import type { RunningService } from '../../../coordinator/service-factory';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { silentLogger } from '../../../shared/base/logs/logger';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { plainService } from '../../support/shards/plain-service';
import type { SimulatedProcess } from './simulated-process';

/** How long old shards stay: longer than any call with the record of before. */
const RETIRE_MS = 5_000;
export const REQUEST_MS = 3_000;
const START_AGAIN_MS = 500;

/** Who has no metrics. */
const NOBODY: BackupObserver = { ended: () => undefined, unreadable: () => undefined, newest: () => undefined };

export interface CoordinatorParts {
  process: SimulatedProcess;
  store: ClusterStore;
  shards: ShardClient;
  clock: Clock;
  /** What it says as a driver. */
  say: (message: string) => void;
  /** Where backups are kept; absent: there are none. */
  target?: BackupTarget | undefined;
}

/**
 * A coordinator as it ships, but for HTTP: its services, and the drivers of reshards and backups as long as it believes
 * that it is the controller.
 */
export class SimulatedCoordinator {
  readonly leadership: { guard: Guard | null } = { guard: null };
  /** null until it serves. */
  service: RunningService | null = null;
  private drivers: { close(): Promise<void> }[] = [];

  constructor(private readonly parts: CoordinatorParts) {
    void this.start();
  }

  get process(): SimulatedProcess {
    return this.parts.process;
  }

  /** It hears that it is the controller, by the entry of this revision. */
  hold(revision: number): void {
    this.leadership.guard = { key: CONTROLLER_PATH, revision };
  }

  /** It hears that another one is. */
  lose(revision: number): void {
    if (this.leadership.guard !== null && this.leadership.guard.revision < revision) this.leadership.guard = null;
  }

  kill(): void {
    this.parts.process.kill();
    this.service?.close();
    for (const driver of this.drivers) void driver.close();
    this.service = null;
  }

  /** Finishes what others left. */
  async recover(): Promise<void> {
    await this.service?.recover({ creationMs: Infinity });
  }

  private async start(): Promise<void> {
    const { process, store, shards, clock, say, target } = this.parts;
    const told = (level: string) => (fields: object, message: string) =>
      say(`${process.name} ${level} ${message} ${(fields as { error?: Error | null }).error?.message ?? ''}`);
    while (process.isAlive) {
      try {
        const environment = {
          REQUEST_TIMEOUT_MS: String(REQUEST_MS),
          DEFAULT_SHARDS: '1',
          ...(target && { BACKUP_TARGET: target.name }),
        };
        const log = { ...silentLogger, info: told('info'), warn: told('warn'), error: told('error') };
        const { service } = await plainService({
          store,
          shardClient: shards,
          clock,
          log,
          instanceId: process.name,
          environment,
          openTarget: target && (() => target),
        });
        this.drivers.push(await service.driveReshards(this.leadership, RETIRE_MS));
        if (target !== undefined) this.drivers.push(await service.driveBackups(this.leadership, NOBODY));
        this.service = service;
        return;
      } catch {
        await new Promise((wake) => setTimeout(wake, START_AGAIN_MS));
      }
    }
  }
}
