import type { RunningService } from '../../../coordinator/service-factory';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Chance } from '../chance';
import { COLLECTION } from '../resharding/resharding-client';
import type { SimulatedCoordinator } from '../resharding/simulated-coordinator';
import type { Schedule } from '../schedule';

/** A collection that nobody writes once it is made. */
export const STILL = 'still';
const SHARDS_MAX = 3;
const CALL_MS = 5_000;
const PAUSE_MS = 900;
/** Until a restore is given up that is not over by then. */
const CANCEL_MS = 1_500;

export interface RestoringClientParts {
  schedule: Schedule;
  chance: Chance;
  counts: Record<string, number>;
  serving: () => SimulatedCoordinator | null;
  touch: () => void;
  /** Backups that are there. */
  known: () => { id: string; names: string[] }[];
  /** Whether enough are being taken. */
  isBusy: () => boolean;
  /** Names of restored collections that can be seen. */
  copies: () => string[];
  /** Told before a collection is deleted, and a backup. */
  onDelete: (name: string) => void;
  onDeleteBackup: (id: string) => void;
}

/**
 * Who takes backups, deletes them, restores them, gives that up, and deletes what was restored, by the coordinators'
 * services.
 */
export class RestoringClient {
  private names = 0;

  constructor(private readonly parts: RestoringClientParts) {}

  /** Resolves when it has its last answer. */
  async run(isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      await this.step();
      await this.pause(this.parts.chance.around(PAUSE_MS));
    }
  }

  private async step(): Promise<void> {
    const { chance } = this.parts;
    const draw = chance.unit();
    const done = this.parts.known();
    if (draw < 0.25 || done.length === 0) return this.parts.isBusy() ? undefined : this.backUp();
    if (draw < 0.7) return this.restore(chance.pick(done.slice(0, 3)));
    if (draw < 0.85) return this.deleteBackup(chance.pick(done.slice(0, 3)).id);
    if (draw < 0.9) return void (await this.call('list_backups', ({ backups }) => backups.list()));
    const copies = this.parts.copies();
    if (copies.length === 0) return;
    const name = chance.pick(copies);
    this.parts.onDelete(name);
    await this.call('delete_copy', ({ collections }) => collections.delete(name));
  }

  private async deleteBackup(id: string): Promise<void> {
    this.parts.onDeleteBackup(id);
    await this.call('delete_backup', ({ backups }) => backups.delete(id));
  }

  async backUp(): Promise<void> {
    const collections = this.parts.chance.happens(0.5) ? [COLLECTION] : [COLLECTION, STILL];
    await this.call('backup', ({ backups }) => backups.create({ collections }));
  }

  /** Into a new name, or sometimes one that is taken, or is just being taken. */
  private async restore({ id: backup, names }: { id: string; names: string[] }): Promise<void> {
    const { chance, schedule } = this.parts;
    const copies = this.parts.copies();
    const rename: Record<string, string> = {};
    const collections = chance.happens(0.7) ? names : names.slice(0, 1);
    for (const name of collections)
      rename[name] = chance.happens(0.1) ? chance.pick([STILL, ...copies]) : `copy-${(this.names += 1)}`;
    const shards = chance.happens(0.7) ? 1 + chance.below(SHARDS_MAX) : undefined;
    const order = { backup, collections, rename, shards, replicas: undefined, target: undefined, keys: false };
    const begun = await this.call('restore', ({ backups }) => backups.restore(order));
    // Two at once, into the same names: one of them at most may have it.
    if (chance.happens(0.15)) await this.call('restore', ({ backups }) => backups.restore(order));
    if (begun === null || !chance.happens(0.35)) return;
    await new Promise<void>((wake) =>
      schedule.after(chance.around(CANCEL_MS), () => {
        this.parts.touch();
        wake();
      }),
    );
    await this.call('cancel_restore', ({ backups }) => backups.cancelRestore(begun.id));
  }

  /** null: it was refused, or there was no answer. */
  private async call<Result>(name: string, run: (service: RunningService) => Promise<Result>): Promise<Result | null> {
    const { schedule, serving, touch, counts } = this.parts;
    const service = serving()?.service ?? null;
    if (service === null) {
      await this.pause(100);
      return null;
    }
    return new Promise((done) => {
      let isOver = false;
      const end = (outcome: string, result: Result | null): void => {
        if (isOver) return;
        isOver = true;
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        done(result);
      };
      schedule.after(CALL_MS, () => {
        touch();
        end(`${name}_unknown`, null);
      });
      run(service).then(
        (result) => end(name, result),
        (error: unknown) => {
          if (!isQuiverError(error)) throw error;
          end(
            error.kind === 'already_exists' || error.kind === 'conflict' ? `${name}_${error.kind}` : `${name}_fail`,
            null,
          );
        },
      );
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((wake) =>
      this.parts.schedule.after(ms, () => {
        this.parts.touch();
        wake();
      }),
    );
  }
}
