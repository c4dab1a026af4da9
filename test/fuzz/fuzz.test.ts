import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findingsIn } from './finding';
import { type FuzzTarget, type TargetName } from './fuzz-target';
import { fuzz, replay } from './fuzz-run';
import { openTarget } from './targets';

/** What `npm run fuzz` has found before, and some of what it does: the same cases at each run. */

const REGRESSIONS = join(__dirname, 'regressions');
/** Cases of each target, by what one costs; the whole takes less than a minute. */
const CASES: Partial<Record<TargetName, number>> = {
  bodies: 150,
  uploads: 60,
  http: 100,
  http2: 100,
  rpc: 10,
  files: 2,
  imports: 600,
  documents: 400,
};
const SEED = 20;

let target: FuzzTarget | null = null;
afterEach(async () => {
  await target?.stop();
  target = null;
});

const regressions = findingsIn(REGRESSIONS);
if (regressions.length > 0) {
  test.each(regressions)('$name stays mended', async ({ finding }) => {
    target = openTarget(finding.target);
    expect(await replay(target, finding)).toEqual([]);
  });
}

test.each(Object.entries(CASES) as [TargetName, number][])('%s: %d cases and nothing found', async (name, casesMax) => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-findings-'));
  try {
    target = openTarget(name);
    const report = await fuzz(target, {
      seed: SEED,
      untilMs: Infinity,
      casesMax,
      folder,
      log: (line) => console.log(line),
    });
    expect(report.findings.flatMap(({ faults }) => faults)).toEqual([]);
    expect(report.cases).toBe(casesMax);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
