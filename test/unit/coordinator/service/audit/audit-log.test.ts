import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditFile } from '../../../../../coordinator/service/audit/audit-file';
import { AuditLog, type AuditSink } from '../../../../../coordinator/service/audit/audit-log';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { eventually } from '../../../../support/eventually';

const folder = mkdtempSync(join(tmpdir(), 'quiver-audit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newPath = (): string => join(folder, `audit-${++files}.jsonl`);
const linesOf = (path: string): any[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('the file', () => {
  test('is rotated by size, keeps so many, and no line is cut or lost', async () => {
    const path = newPath();
    const sink = new AuditFile({ path, bytesMax: 60, filesMax: 2 });
    for (let i = 0; i < 10; i += 1) await sink.append(`${JSON.stringify({ i, text: 'x'.repeat(10) })}\n`);
    await sink.close();
    const kept = [`${path}.2`, `${path}.1`, path].flatMap(linesOf).map(({ i }) => i);
    expect(kept).toEqual([4, 5, 6, 7, 8, 9]);
    expect(existsSync(`${path}.3`)).toBe(false);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('is opened anew at SIGHUP, so that others may rotate it', async () => {
    const path = newPath();
    const sink = new AuditFile({ path, bytesMax: 1_000, filesMax: 1 });
    await sink.append('{"i":1}\n');
    renameSync(path, `${path}.moved`);
    await sink.append('{"i":2}\n');
    process.emit('SIGHUP');
    await sink.append('{"i":3}\n');
    await sink.close();
    expect([linesOf(`${path}.moved`), linesOf(path)]).toEqual([[{ i: 1 }, { i: 2 }], [{ i: 3 }]]);
  });

  test('goes on behind a line that a crash has cut', async () => {
    const path = newPath();
    writeFileSync(path, '{"i":1}\n{"i"');
    const sink = new AuditFile({ path, bytesMax: 1_000, filesMax: 1 });
    await sink.append('{"i":3}\n');
    await sink.close();
    expect(readFileSync(path, 'utf8')).toBe('{"i":1}\n{"i"\n{"i":3}\n');
    appendFileSync(path, '');
  });
});

/** A disk that may be full. */
class Disk implements AuditSink {
  isFull = false;
  written = '';

  async append(lines: string): Promise<void> {
    await this.hanging;
    if (this.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    this.written += lines;
  }

  isClosed = false;
  isAbandoned = false;
  /** Set: the disk hangs until it is called. */
  private wake: (() => void) | null = null;
  private hanging: Promise<void> = Promise.resolve();

  hang(): void {
    this.hanging = new Promise((done) => (this.wake = done));
  }

  wakeUp(): void {
    this.wake?.();
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  abandon(): void {
    this.isAbandoned = true;
  }

  get lines(): any[] {
    return this.written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }
}

describe('the log', () => {
  test('keeps lines in order while the disk is full, up to a bound, and says how many were lost', async () => {
    const disk = new Disk();
    const failing: boolean[] = [];
    const log = new AuditLog({
      sink: disk,
      log: silentLogger,
      onFailing: (is) => failing.push(is),
      retryMs: 5,
      waitingBytesMax: 40,
    });
    log.record({ i: 0 });
    await eventually('it is written', () => disk.lines.length === 1);
    disk.isFull = true;
    for (let i = 1; i <= 9; i += 1) log.record({ i });
    await eventually('it is known', () => log.isFailing);
    expect(log.lostLines).toBe(4);
    disk.isFull = false;
    await eventually('it is over', () => !log.isFailing);
    log.record({ i: 10 });
    await log.close();
    expect(disk.lines).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((i) => ({ i })),
      { time: expect.any(String), event: 'lost', lines: 4 },
      { i: 10 },
    ]);
    expect(failing).toEqual([true, false]);
  });

  test('counts a disk that hangs as one that fails, until it has written', async () => {
    const disk = new Disk();
    const log = new AuditLog({ sink: disk, log: silentLogger, lateMs: 1 });
    disk.hang();
    log.record({ i: 0 });
    await eventually('it is known', () => log.isFailing);
    disk.wakeUp();
    await eventually('it is over', () => !log.isFailing);
    await log.close();
    expect([disk.lines, disk.isClosed, disk.isAbandoned]).toEqual([[{ i: 0 }], true, false]);
  });

  test.each(['hangs', 'is full'])('is closed in time when the disk %s', async (what) => {
    const disk = new Disk();
    const log = new AuditLog({ sink: disk, log: silentLogger, lateMs: 1, closeMs: 20, retryMs: 1 });
    if (what === 'hangs') disk.hang();
    else disk.isFull = true;
    log.record({ i: 0 });
    await log.close();
    expect([disk.written, disk.isClosed, disk.isAbandoned]).toEqual(['', what !== 'hangs', what === 'hangs']);
  });

  test('writes what waits when it is closed', async () => {
    const disk = new Disk();
    const log = new AuditLog({ sink: disk, log: silentLogger });
    for (let i = 0; i < 100; i += 1) log.record({ i });
    await log.close();
    expect(disk.lines).toEqual(Array.from({ length: 100 }, (_, i) => ({ i })));
  });
});
