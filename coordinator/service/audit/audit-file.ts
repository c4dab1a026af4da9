import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import type { LineOutput } from '../../../shared/base/process/line-output';
import { noteStuckThread } from '../../../shared/base/process/stuck-threads';
import type { AuditSink } from './audit-log';
import { unlessMissing } from '../../../shared/base/files/missing-file';

/** Only the service's own user reads who did what. */
const MODE = 0o600;
const LINE_BREAK = 10;

/**
 * A file of lines that only grows. Beyond `bytesMax` it becomes `<path>.1`, `<path>.1` becomes `<path>.2` and so on,
 * and what would be beyond `filesMax` is removed. At SIGHUP it is opened again, for programs that rotate it themselves.
 */
export class AuditFile implements AuditSink {
  private file: FileHandle | null = null;
  private size = 0;
  private readonly reopen = (): void => {
    this.isStale = true;
  };
  private isStale = false;

  constructor(private readonly parts: { path: string; bytesMax: number; filesMax: number }) {
    process.on('SIGHUP', this.reopen);
  }

  /** Opens the file, so that a path that can't be used is known at the start. Errors: those of the file system. */
  async open(): Promise<void> {
    await this.ready();
  }

  async append(lines: string): Promise<void> {
    const bytes = Buffer.from(lines);
    let file = await this.ready();
    if (this.size > 0 && this.size + bytes.length > this.parts.bytesMax) {
      await this.rotate();
      file = await this.ready();
    }
    try {
      let written = 0;
      while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten;
      this.size += bytes.length;
    } catch (error) {
      // What was written of them before the disk was full would be half a line, and be there twice.
      await file.truncate(this.size).catch(() => this.forget());
      throw error;
    }
  }

  async close(): Promise<void> {
    process.off('SIGHUP', this.reopen);
    await this.forget();
  }

  abandon(): void {
    process.off('SIGHUP', this.reopen);
    // The write is in one of Node's threads, for which an exit would wait.
    noteStuckThread();
  }

  private async ready(): Promise<FileHandle> {
    if (this.isStale) await this.forget();
    if (this.file !== null) return this.file;
    this.isStale = false;
    const file = await open(this.parts.path, 'a+', MODE);
    this.file = file;
    this.size = (await file.stat()).size;
    await this.endLine(file);
    return file;
  }

  /** Ends the line that a crash has cut. */
  private async endLine(file: FileHandle): Promise<void> {
    if (this.size === 0) return;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, this.size - 1);
    if (buffer[0] === LINE_BREAK) return;
    await file.write('\n');
    this.size += 1;
  }

  private async rotate(): Promise<void> {
    await this.forget();
    const { path, filesMax } = this.parts;
    await rm(filesMax === 0 ? path : `${path}.${filesMax}`, { force: true });
    for (let i = filesMax - 1; i >= 0; i -= 1) {
      await unlessMissing(rename(i === 0 ? path : `${path}.${i}`, `${path}.${i + 1}`));
    }
  }

  private async forget(): Promise<void> {
    const { file } = this;
    this.file = null;
    this.isStale = false;
    await file?.close();
  }
}

/** Lines among others: on standard output beside the log, from which `"event"` tells them, or to a pipe. */
export class AuditOutput implements AuditSink {
  constructor(private readonly output: Pick<LineOutput, 'append'>) {}

  append(lines: string): Promise<void> {
    return this.output.append(lines);
  }

  async close(): Promise<void> {
    // It stays open: it belongs to the process, and is tried again as long as that lives.
  }

  abandon(): void {
    // No thread is in a write: it has O_NONBLOCK, or is the log's.
  }
}
