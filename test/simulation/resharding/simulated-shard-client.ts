import { OpenWrites } from '../../../coordinator/cluster/calls/open-writes';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardBackupOrder, ShardBackupState } from '../../../shared/contract/shard/shard-backup';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  ShardSpec,
  WriteOperation,
  WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import type { WriteAnswer } from '../../../node/replication/core/effects';
import type { Chance } from '../chance';
import type { Network } from '../network';
import type { Schedule } from '../schedule';
import type { SimulatedNode } from '../simulated-node';
import type { ShardCell } from './shard-cell';
import { payloadOfOperations, type ShardMachine } from './shard-machine';
import type { SimulatedProcess } from './simulated-process';

const WRITE_ATTEMPT_MS = 400;
const READ_ATTEMPT_MS = 1_400;
const OPEN_CHECK_MS = 100;
const OPEN_MS = 10_000;

/** The shards of a cluster, as its map has them. */
export interface Shards {
  find(id: ShardId): ShardCell | 'dropped' | null;
  /** Makes it, unless it was dropped. */
  make(id: ShardId | ShardSpec): void;
  drop(id: ShardId): void;
}

/** Begins what is ordered of a shard's replica, unless it did, and answers how far it is. Errors: as a shard's. */
export type AnswerBackup = (
  cell: ShardCell,
  node: SimulatedNode<ShardMachine>,
  order: ShardBackupOrder,
) => ShardBackupState;

/** What ends a call, once. */
interface Call {
  readonly isOver: boolean;
  end(act: () => void): void;
}

/**
 * What of a cluster's shards a coordinator reaches: writes under names, each sent until its outcome is known, reads
 * anywhere.
 */
export class SimulatedShardClient implements ShardClient {
  private readonly ledger = new OpenWrites();

  constructor(
    private readonly parts: {
      shards: Shards;
      process: SimulatedProcess;
      schedule: Schedule;
      network: Network;
      chance: Chance;
      nodes: readonly string[];
      session: string;
      backups?: AnswerBackup;
    },
  ) {}

  make(spec: ShardSpec): Promise<void> {
    return this.open(spec);
  }

  /** Resolves when it serves. */
  open(spec: ShardSpec): Promise<void> {
    const { shards, schedule } = this.parts;
    return new Promise((resolve, reject) => {
      const call = this.begin(schedule.now + OPEN_MS, () =>
        reject(new QuiverError('unavailable', 'the simulated shard did not open in time')),
      );
      const look = (): void => {
        if (call.isOver) return;
        const cell = shards.find(spec);
        if (cell === 'dropped') return call.end(() => reject(gone(spec)));
        if (cell === null) shards.make(spec);
        else if (isServing(cell)) return call.end(resolve);
        else if (cell.failure !== null) return call.end(() => reject(cell.failure!));
        schedule.after(OPEN_CHECK_MS, look);
      };
      schedule.after(1, look);
    });
  }

  async drop(id: ShardId): Promise<void> {
    this.parts.shards.drop(id);
  }

  write(id: ShardId, operations: WriteOperation[], { deadlineMs }: CallOptions): Promise<WriteResult> {
    const { process, schedule } = this.parts;
    const named = this.ledger.begin(id);
    const payload = payloadOfOperations(operations);
    let wasSent = false;
    let isInDoubt = false;
    return new Promise<WriteResult>((resolve, reject) => {
      const call = this.begin(deadlineMs, () =>
        reject(
          wasSent ? new QuiverError('commit_unknown', 'the simulated shard did not confirm the write') : notInTime(id),
        ),
      );
      const attempt = (isGuess: boolean): void => {
        const cell = this.reach(id, call, reject, () => attempt(true));
        if (cell === null) return;
        const node = this.target(cell, isGuess);
        const take = this.once((answer: WriteAnswer | null) => {
          if (answer?.ok === true) return call.end(() => resolve(answer.result));
          isInDoubt ||= answer === null || answer.kind === 'commit_unknown';
          if (answer !== null && !isInDoubt && answer.kind !== 'misrouted')
            return call.end(() => reject(new QuiverError('unavailable', answer.reason)));
          this.again(call, () => attempt(true));
        });
        wasSent = true;
        const source = {
          session: this.parts.session,
          requestNumber: named.requestNumber,
          settledBelow: named.settledBelow(),
        };
        process.send(
          node,
          this.once(() =>
            this.at(cell, node, (target) =>
              target.write({ source, payload }, (answer) => this.reply(node, () => take(answer))),
            ),
          ),
        );
        schedule.after(WRITE_ATTEMPT_MS, () => take(null));
      };
      attempt(false);
    }).finally(() => named.settle());
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    { deadlineMs }: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    const { process, schedule, chance, backups } = this.parts;
    return new Promise((resolve, reject) => {
      const call = this.begin(deadlineMs, () => reject(notInTime(id)));
      const attempt = (isGuess: boolean): void => {
        const cell = this.reach(id, call, reject, () => attempt(true));
        if (cell === null) return;
        const node = this.target(cell, isGuess || chance.happens(0.2));
        const take = this.once((seen: { answer: AnswerOf<Kind> } | { error: unknown } | undefined) => {
          if (seen === undefined) return this.again(call, () => attempt(true));
          call.end(() => ('answer' in seen ? resolve(seen.answer) : reject(seen.error as Error)));
        });
        process.send(node, () =>
          this.at(cell, node, (target) =>
            target.read(
              (machine) =>
                outcomeOf(() =>
                  kind === 'backup' && backups !== undefined
                    ? (backups(cell, target, request as ShardBackupOrder) as AnswerOf<Kind>)
                    : machine.answer(kind, request),
                ),
              (seen) => this.reply(node, () => take(seen)),
            ),
          ),
        );
        schedule.after(READ_ATTEMPT_MS, () => take(undefined));
      };
      attempt(false);
    });
  }

  private begin(deadlineMs: number, onLate: () => void): Call {
    const { process, schedule } = this.parts;
    let isOver = false;
    const call: Call = {
      get isOver() {
        return isOver;
      },
      end: (act) => {
        if (isOver) return;
        process.receive(() => {
          if (isOver) return;
          isOver = true;
          act();
        });
      },
    };
    schedule.after(deadlineMs - schedule.now, () => call.end(onLate));
    return call;
  }

  /** The shard to send to; null: the call has ended, or is tried again. */
  private reach(id: ShardId, call: Call, reject: (error: Error) => void, retry: () => void): ShardCell | null {
    if (call.isOver || !this.parts.process.isAlive) return null;
    const cell = this.parts.shards.find(id);
    if (cell === 'dropped') call.end(() => reject(gone(id)));
    else if (cell === null) this.again(call, retry);
    else return cell;
    return null;
  }

  /** Mostly the primary by the map, sometimes any other: old primaries get their share. */
  private target(cell: ShardCell, isGuess: boolean): string {
    const { chance, nodes } = this.parts;
    return (isGuess && chance.happens(0.5) ? null : cell.primary) ?? chance.pick(nodes);
  }

  private at(
    cell: ShardCell,
    node: string,
    act: (target: NonNullable<ReturnType<ShardCell['around']['nodes']['get']>>) => void,
  ): void {
    const target = cell.around.nodes.get(node)!;
    target.receive(() => act(target));
  }

  private reply(node: string, act: () => void): void {
    const { network, process } = this.parts;
    network.send(node, process.name, () => process.receive(act));
  }

  private again(call: Call, attempt: () => void): void {
    if (!call.isOver) this.parts.schedule.after(20 + this.parts.chance.unit() * 60, attempt);
  }

  /** A stream between two processes delivers nothing twice. */
  private once<Given = void>(act: (given: Given) => void): (given: Given) => void {
    let isDone = false;
    return (given) => {
      if (isDone) return;
      isDone = true;
      act(given);
    };
  }
}

function isServing({ around, primary }: ShardCell): boolean {
  const node = primary === null ? undefined : around.nodes.get(primary);
  return node?.replica?.status(node.clock()).phase === 'serving';
}

function outcomeOf<Answer>(run: () => Answer): { answer: Answer } | { error: unknown } {
  try {
    return { answer: run() };
  } catch (error) {
    if (isQuiverError(error)) return { error };
    throw error;
  }
}

function gone({ collectionUid, shard }: ShardId): QuiverError {
  return new QuiverError('not_found', `shard ${shard} of ${collectionUid} does not exist`);
}

function notInTime({ shard }: ShardId): QuiverError {
  return new QuiverError('unavailable', `shard ${shard} did not answer in time`);
}
