import { constants, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../shared/base/config/config';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { LineOutput } from '../../../shared/base/process/line-output';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import { AuditFile, AuditOutput } from '../../service/audit/audit-file';
import { AuditLog, type AuditSink } from '../../service/audit/audit-log';
import type { AuditState } from '../http/pipeline';

type AuditConfig = Pick<Config, 'auditLog' | 'auditBytesMax' | 'auditFilesMax' | 'auditFailure'>;

/**
 * The audit log of a process, as its settings have it: where it goes, what it counts, and whether changes must be
 * refused.
 */
export class ProcessAudit implements AuditState {
  private readonly followers = new Set<(isRefusing: boolean) => void>();
  private isFailing = false;
  readonly log: AuditLog;

  private constructor(
    private readonly parts: { config: AuditConfig; log: Logger },
    sink: AuditSink,
  ) {
    this.log = new AuditLog({
      sink,
      log: parts.log,
      onFailing: (isFailing) => {
        this.isFailing = isFailing;
        for (const follower of this.followers) follower(this.isRefusing());
      },
    });
  }

  /** `output`: standard output of the process. Errors: invalid_parameter for a file that can't be opened. */
  static async open(parts: {
    config: AuditConfig;
    log: Logger;
    output: LineOutput;
    metrics: ProcessMetrics;
  }): Promise<ProcessAudit> {
    const { auditLog: path, auditBytesMax: bytesMax, auditFilesMax: filesMax } = parts.config;
    let sink: AuditSink;
    try {
      if (path === 'stdout') {
        sink = new AuditOutput(parts.output);
      } else if (isPipe(path)) {
        sink = openPipe(path);
      } else {
        const file = new AuditFile({ path: join(path), bytesMax, filesMax });
        await file.open();
        sink = file;
      }
    } catch (cause) {
      throw new QuiverError(
        'invalid_parameter',
        `AUDIT_LOG=${JSON.stringify(path)} can't be written: ${(cause as Error).message}`,
        { cause },
      );
    }
    const audit = new ProcessAudit(parts, sink);
    parts.metrics.gauge('quiver_audit_failing', '1 while the audit log can not be written, else 0', () =>
      audit.isFailing ? 1 : 0,
    );
    parts.metrics.gauge(
      'quiver_audit_lost_lines',
      'Lines of the audit log that were lost since the start',
      () => audit.log.lostLines,
    );
    return audit;
  }

  isRefusing(): boolean {
    return this.isFailing && this.parts.config.auditFailure === 'refuse';
  }

  /** Tells whether changes must be refused, and from now on each change of that. Answers what ends it. */
  follow(follower: (isRefusing: boolean) => void): () => void {
    follower(this.isRefusing());
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  close(): Promise<void> {
    return this.log.close();
  }
}

/** What is no file and no folder has no size and is not rotated: a FIFO, a device. */
function isPipe(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

/** Fails with ENXIO where nobody reads. */
function openPipe(path: string): AuditOutput {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY);
  return new AuditOutput(new LineOutput({ file, mayBlock: false }));
}
