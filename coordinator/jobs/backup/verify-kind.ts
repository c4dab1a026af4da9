import type { OpenTarget } from '../../../shared/backup-store/backup-target';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { Pace } from '../../../shared/base/time/pace';
import type { JobKind, RunningJob } from '../record/job-kind';
import type { NewJob } from '../record/job-record';
import { checkBackup, type ChecksSoFar } from './backup-checks';
import { BACKUP_RIGHTS } from './backup-record';
import { BackupRepository } from './backup-repository';

export const VERIFY = 'verify';
const NAMED_IN_LOG = 20;

/** Which backup is verified, and where it is. */
export interface VerifyInput {
  backup: string;
  target: string;
}

/** What is told of one that begins. */
export function verifyJob(input: VerifyInput): Omit<NewJob, 'id'> {
  return { kind: VERIFY, collection: null, subject: input.backup, input, unit: 'objects' };
}

/** Reads every object of a backup and compares it with its checksum. */
export class VerifyKind implements JobKind {
  readonly kind = VERIFY;
  readonly rights = BACKUP_RIGHTS;
  /** It asks for all that a target can give. */
  readonly atOnce = 1;

  constructor(private readonly parts: { openTarget: OpenTarget; pace: Pace; clock: Clock; log: Logger }) {}

  async run(job: RunningJob, stop: AbortSignal): Promise<object> {
    const { openTarget, pace, clock, log } = this.parts;
    const { backup, target } = job.record.input as VerifyInput;
    const wallMs = (): number => clock.wallMs();
    const repository = new BackupRepository(openTarget(target), wallMs);
    const manifest = await repository.find(backup);
    if (manifest === null) throw new QuiverError('not_found', `backup "${backup}" does not exist`);
    const onProgress = (so: ChecksSoFar, total: number): void => job.report({ done: so.objects, total, notes: so });
    const from = job.record.notes as ChecksSoFar | null;
    const { objects, bytes, damaged } = await checkBackup(repository.target, manifest, {
      pace,
      stop,
      wallMs,
      from,
      onProgress,
    });
    if (damaged.length > 0)
      log.error(
        { backup, target, damaged: damaged.slice(0, NAMED_IN_LOG), count: damaged.length },
        'a backup is damaged',
      );
    return { backup, objects, bytes, damaged };
  }
}
