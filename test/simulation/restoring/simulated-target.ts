import { TEST_SEALS } from '../../support/cluster/test-seals';
import { CLAIMS_PREFIX } from '../../../shared/backup-store/backup-format';
import type { BackupObject, BackupTarget } from '../../../shared/backup-store/backup-target';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Chance } from '../chance';
import type { Schedule } from '../schedule';

export const TARGET = 'target';
const TARGET_NAME = 'file:/simulated';
const CALL_MS = 1_500;

/** How the place of backups does at present. */
export interface TargetWeather {
  /** Probability that a call fails before anything is done, and that its answer is lost. */
  fails: number;
  lostAnswers: number;
  /** It can't be reached; it refuses whatever is written. */
  isAway: boolean;
  isFull: boolean;
}

/** The objects that are in it, and everything that ever was: by name, in the order of being written. */
export class TargetObjects {
  readonly present = new Map<string, Buffer>();
  readonly ever = new Map<string, Buffer[]>();
  /** Whether a restore, or a backup, could not say what it needs. */
  hasRefusedClaims = false;
  /** Told of every object that is written. */
  onPut: (key: string, bytes: Buffer) => void = () => undefined;

  put(key: string, bytes: Buffer): void {
    this.present.set(key, bytes);
    this.ever.set(key, [...(this.ever.get(key) ?? []), bytes]);
    this.onPut(key, bytes);
  }
}

export interface TargetParts {
  objects: TargetObjects;
  weather: TargetWeather;
  schedule: Schedule;
  chance: Chance;
  counts: Record<string, number>;
  /** Brings a call to it, late or not at all. */
  send: (deliver: () => void) => void;
  /** Brings an answer to whoever called, if it is still there. */
  receive: (act: () => void) => void;
}

/** The place of backups as one process reaches it. */
export class SimulatedTarget implements BackupTarget {
  readonly name = TARGET_NAME;
  readonly seals = TEST_SEALS;

  constructor(private readonly parts: TargetParts) {}

  put(key: string, bytes: Buffer): Promise<void> {
    return this.call(() => {
      this.checkRoom(key);
      this.parts.objects.put(key, bytes);
    });
  }

  create(key: string, bytes: Buffer): Promise<boolean> {
    const { objects, counts } = this.parts;
    return this.call(() => {
      this.checkRoom(key);
      if (objects.present.has(key)) {
        counts.refusedCreates += 1;
        return false;
      }
      objects.put(key, bytes);
      return true;
    });
  }

  get(key: string): Promise<Buffer | null> {
    return this.call(() => this.parts.objects.present.get(key) ?? null);
  }

  list(prefix: string, after = ''): Promise<BackupObject[]> {
    return this.call(() =>
      [...this.parts.objects.present].flatMap(([key, { length }]) =>
        key.startsWith(prefix) && key > after ? [{ key, bytes: length }] : [],
      ),
    );
  }

  delete(key: string): Promise<void> {
    return this.call(() => {
      if (this.parts.objects.present.delete(key)) this.parts.counts.sweptObjects += 1;
    });
  }

  private checkRoom(key: string): void {
    const { objects, weather, counts } = this.parts;
    if (!weather.isFull) return;
    counts.refusedPuts += 1;
    objects.hasRefusedClaims ||= key.startsWith(CLAIMS_PREFIX);
    throw new QuiverError('storage_failed', 'the simulated target has no room');
  }

  private call<Result>(run: () => Result): Promise<Result> {
    const { weather, schedule, chance, counts, send, receive } = this.parts;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let isRun = false;
      const end = (act: () => void): void => {
        if (isOver) return;
        receive(() => {
          if (isOver) return;
          isOver = true;
          act();
        });
      };
      const fail = (error: unknown): void => end(() => reject(error as Error));
      send(() => {
        if (isRun) return;
        isRun = true;
        if (weather.isAway || chance.happens(weather.fails)) {
          counts.failedTargetCalls += 1;
          return fail(new QuiverError('unavailable', 'the simulated target can not be reached'));
        }
        let answer: () => void;
        try {
          const result = run();
          answer = () => end(() => resolve(result));
        } catch (error) {
          answer = () => fail(error);
        }
        if (chance.happens(weather.lostAnswers)) return void (counts.lostTargetAnswers += 1);
        schedule.after(0.5 + chance.around(10), answer);
      });
      schedule.after(CALL_MS, () => fail(new QuiverError('unavailable', 'the simulated target gave no answer')));
    });
  }
}
