import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessAudit } from '../../../../../coordinator/api/metrics/process-audit';
import { LineOutput } from '../../../../../shared/base/process/line-output';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { eventually } from '../../../../support/eventually';
import { metricsOfProcess, samples } from '../../../../support/processes/metrics-of-process';
import { StalledPipe } from '../../../../support/values/output-places';

/** More than a pipe holds and may wait: lines of some hundred bytes. */
const MANY = 60_000;

async function open(
  auditLog: string,
  auditFailure: 'continue' | 'refuse',
  output = new LineOutput({ file: -1, mayBlock: false }),
) {
  const { metrics } = metricsOfProcess();
  const audit = await ProcessAudit.open({
    config: { auditLog, auditBytesMax: 1_000_000, auditFilesMax: 1, auditFailure },
    log: silentLogger,
    output,
    metrics,
  });
  return { audit, metrics };
}

const event = (i: number): Record<string, string | number> => ({ event: 'request', i, pad: 'x'.repeat(70) });

test.each(['a FIFO', 'standard output'])(
  'an audit log on %s whose reader stands still loses no more than it must, has changes refused if so wished, and goes on',
  async (where) => {
    const pipe = new StalledPipe();
    const output = new LineOutput({ file: pipe.openWriter(), mayBlock: false });
    const { audit, metrics } = await open(where === 'a FIFO' ? pipe.path : 'stdout', 'refuse', output);
    const told: boolean[] = [];
    audit.follow((isRefusing) => told.push(isRefusing));
    for (let i = 0; i < MANY; i += 1) audit.log.record(event(i));
    await eventually('changes are refused', () => audit.isRefusing());
    expect(await samples(metrics, 'quiver_audit_failing')).toEqual(['quiver_audit_failing 1']);
    const { lostLines } = audit.log;
    expect(lostLines).toBeGreaterThan(0);

    const said = await pipe.readUntil('"event":"lost"');
    const lines = said
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; i: number; lines: number });
    expect(lines.slice(0, -1).map(({ i }) => i)).toEqual(Array.from({ length: MANY - lostLines }, (_, i) => i));
    expect(lines.at(-1)).toMatchObject({ event: 'lost', lines: lostLines });
    await eventually('changes are taken', () => !audit.isRefusing());
    expect(told).toEqual([false, true, false]);

    pipe.leave();
    audit.log.record(event(0));
    await eventually('changes are refused', () => audit.isRefusing());
    await audit.close();
    pipe.close();
  },
);

test('a FIFO that nobody reads is refused at the start, and so is a folder', async () => {
  const pipe = new StalledPipe();
  pipe.leave();
  await expect(open(pipe.path, 'continue')).rejects.toThrow(/^AUDIT_LOG=".*" can't be written: ENXIO/);
  pipe.close();
  const folder = mkdtempSync(join(tmpdir(), 'quiver-audit-'));
  await expect(open(folder, 'continue')).rejects.toThrow(/^AUDIT_LOG=".*" can't be written: EISDIR/);
  rmSync(folder, { recursive: true });
});
