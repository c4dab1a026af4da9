import { PatientTarget } from '../../../node/engine/shard/backup/patient-target';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../shared/base/logs/logger';
import type { ShardBackupOrder, ShardBackupState } from '../../../shared/contract/shard/shard-backup';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { shardOf } from '../../../shared/contract/shard/shard-of';
import { type ArchivedShard, payloadOfArchive, type ShardMachine } from '../resharding/shard-machine';
import type { ShardCell } from '../resharding/shard-cell';
import type { ShardGround } from '../resharding/shard-cell';
import type { Filling, SimulatedNode } from '../simulated-node';
import { readArchive, writeArchive } from './shard-archive';
import { SimulatedTarget, TARGET, type TargetParts } from './simulated-target';

/** Longer than any outage of the target here. */
const PATIENCE = { unavailableMs: 600_000, refusedMs: 600_000, firstPauseMs: 200 };
/** From the order of a backup to the moment that it shows. */
const VIEW_MS = 60;

interface Job {
  backup: string;
  /** The opening of the shard that it is of: it ends with it. */
  replica: object | null;
  installed: number;
  state: ShardBackupState;
}

/** What a broken variant does to what nodes do for backups. */
export interface ArchiveTamper {
  /** Which backup a shard takes an order for. */
  backup?: (order: ShardBackupOrder) => string;
  /** Whether an item that it has read belongs to a shard. */
  isOwn?: (externalId: string, shards: number, shard: number) => boolean;
  /** What a shard begins with of what it has read. */
  beginning?: (shard: ArchivedShard) => ArchivedShard;
}

/** What storage nodes do for backups: write shards to the target, and fill those that are restored from it. */
export class ArchivingNodes {
  private readonly jobs = new Map<SimulatedNode<ShardMachine>, Job>();
  /** One for each content: replicas that begin with the same have the same in their logs. */
  private readonly payloads = new Map<string, Buffer>();

  constructor(
    private readonly parts: {
      ground: ShardGround;
      target: Omit<TargetParts, 'send' | 'receive'>;
      touch: () => void;
      tamper: ArchiveTamper;
    },
  ) {}

  /** As ShardBackups: asked again, it goes on, and answers how far it is. */
  order(cell: ShardCell, node: SimulatedNode<ShardMachine>, order: ShardBackupOrder): ShardBackupState {
    const { replica } = node;
    const { installed } = node.storage;
    const backup = this.parts.tamper.backup?.(order) ?? order.backup;
    let job = this.jobs.get(node);
    if (job?.backup !== backup || job.replica !== replica || job.installed !== installed) {
      job = {
        backup,
        replica,
        installed,
        state: {
          state: 'running',
          copiedBytes: 0,
          totalBytes: 0,
          items: 0,
          manifest: null,
          position: null,
          needs: [],
          error: null,
        },
      };
      this.jobs.set(node, job);
      this.begin(cell, node, job, order);
    }
    return { ...job.state };
  }

  /** Fetches what a replica begins with, however often the target fails. */
  fill(cell: ShardCell, { shard }: ShardId, { node, seed, isWanted, done }: Filling): void {
    const { touch, tamper } = this.parts;
    const isOwn = tamper.isOwn ?? ((externalId, shards, own) => shardOf(externalId, shards) === own);
    const ended = new AbortController();
    const target = this.targetOf(cell.around.nodes.get(node)!, () => {
      if (!isWanted()) ended.abort();
      return isWanted();
    });
    touch();
    readArchive(
      new PatientTarget(target, { ended: ended.signal, log: silentLogger, patience: PATIENCE }),
      seed,
      shard,
    ).then(
      ({ items, lastVersion }) => {
        const found = { items: items.filter(({ externalId }) => isOwn(externalId, seed.shards, shard)), lastVersion };
        cell.failure = null;
        done(this.payloadOf(tamper.beginning?.(found) ?? found));
      },
      (error: unknown) => {
        if (!isQuiverError(error)) throw error;
        // As seedShard has it: what can't be used says nothing about what is stored here.
        if (error.kind !== 'unavailable')
          cell.failure = new QuiverError('invalid_parameter', error.message, { cause: error });
        done(null);
      },
    );
  }

  private begin(cell: ShardCell, node: SimulatedNode<ShardMachine>, job: Job, order: ShardBackupOrder): void {
    const { schedule, chance } = this.parts.ground;
    const { replica, installed } = job;
    const isWanted = (): boolean =>
      node.up && node.replica === replica && node.storage.installed === installed && this.jobs.get(node) === job;
    const attempt = chance.below(2 ** 32).toString(16);
    const run = (): void => {
      if (!isWanted()) return;
      this.parts.touch();
      const shard = node.storage.machine.archive();
      writeArchive(this.targetOf(node, isWanted), { id: cell.id, order, attempt, shard }).then(
        (state) => Object.assign(job.state, state),
        (error: unknown) => {
          if (!isQuiverError(error)) throw error;
          Object.assign(job.state, { state: 'failed', error: error.message });
        },
      );
    };
    schedule.after(chance.around(VIEW_MS), () => node.receive(run));
  }

  private targetOf(node: SimulatedNode<ShardMachine>, isWanted: () => boolean): BackupTarget {
    const { ground, target, touch } = this.parts;
    const receive = (act: () => void): void =>
      node.receive(() => {
        touch();
        if (isWanted()) act();
      });
    return new SimulatedTarget({
      ...target,
      send: (deliver) => ground.network.send(node.id, TARGET, deliver),
      receive,
    });
  }

  private payloadOf(shard: ArchivedShard): Buffer {
    const text = JSON.stringify(shard);
    let payload = this.payloads.get(text);
    if (payload === undefined) this.payloads.set(text, (payload = payloadOfArchive(shard)));
    return payload;
  }
}
