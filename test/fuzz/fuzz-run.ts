import { seededRandom } from '../support/values/random';
import { type Finding, writeFinding } from './finding';
import type { FuzzTarget } from './fuzz-target';

/** Trials that making a finding smaller may take: each may cost a new process. */
const SHRINK_TRIALS_MAX = 40;
const SHRINK_WITHIN_MS = 120_000;
/** A process is replaced after so many cases: what piles up by then has been seen by the check of its memory. */
const CASES_PER_PROCESS = 5_000;
/** Findings after which a target is left alone: more of the same helps nobody. */
const FINDINGS_MAX = 20;

export interface FuzzReport {
  target: string;
  cases: number;
  findings: { file: string; faults: string[] }[];
}

/**
 * Fuzzes a target until `untilMs` (monotonic) or for `casesMax` cases. What it finds is written into `folder`, as small
 * as it gets.
 */
export async function fuzz(
  target: FuzzTarget,
  options: { seed: number; untilMs: number; casesMax?: number; folder: string; log: (line: string) => void },
): Promise<FuzzReport> {
  const { seed, untilMs, casesMax = Infinity, folder, log } = options;
  const report: FuzzReport = { target: target.name, cases: 0, findings: [] };
  const random = seededRandom(seed);
  let recent: unknown[] = [];
  const found = async (cases: unknown[], faults: string[]): Promise<void> => {
    const small = await smallest(target, { target: target.name, seed, cases, faults });
    const file = writeFinding(folder, small);
    report.findings.push({ file, faults: small.faults });
    log(`${target.name}: ${small.faults[0]}\n  ${file}`);
    await restart(target);
    recent = [];
  };
  await target.start();
  try {
    while (performance.now() < untilMs && report.cases < casesMax && report.findings.length < FINDINGS_MAX) {
      const given = target.generate(random);
      recent.push(given);
      report.cases += 1;
      const faults = await target.run(given);
      if (faults.length > 0) {
        await found([given], faults);
        continue;
      }
      if (report.cases % target.casesPerCheck !== 0) continue;
      const illness = await target.check();
      if (illness.length > 0) await found(recent, illness);
      else if (report.cases % CASES_PER_PROCESS === 0) await restart(target);
      recent = [];
    }
    if (recent.length > 0) {
      const illness = await target.check();
      if (illness.length > 0) await found(recent, illness);
    }
  } finally {
    await target.stop();
  }
  return report;
}

/** Runs the cases of a finding against a new process; answers what is wrong, nothing when it is mended. */
export async function replay(target: FuzzTarget, finding: Pick<Finding, 'cases'>): Promise<string[]> {
  await restart(target);
  const faults: string[] = [];
  for (const given of finding.cases) faults.push(...(await target.run(given)));
  return [...faults, ...(await target.check())];
}

async function restart(target: FuzzTarget): Promise<void> {
  await target.stop();
  await target.start();
}

/** A finding of the same kind with fewer cases, then a smaller case. One that does not come again stays as it was. */
async function smallest(target: FuzzTarget, finding: Finding): Promise<Finding> {
  const kind = kindOf(finding.faults);
  let trials = 0;
  const untilMs = performance.now() + SHRINK_WITHIN_MS;
  const isStill = async (cases: unknown[]): Promise<string[] | null> => {
    if (performance.now() > untilMs) trials = SHRINK_TRIALS_MAX;
    if (++trials > SHRINK_TRIALS_MAX) return null;
    const faults = await replay(target, { cases }).catch((error: Error) => [`death: ${error.message}`]);
    return kindOf(faults) === kind ? faults : null;
  };
  let best = finding;
  for (let parts = 2; best.cases.length > 1 && parts <= 2 * best.cases.length;) {
    const size = Math.ceil(best.cases.length / parts);
    let isSmaller = false;
    for (let at = 0; at < best.cases.length && !isSmaller; at += size) {
      const cases = best.cases.slice(at, at + size);
      const faults = await isStill(cases);
      if (faults === null) continue;
      best = { ...best, cases, faults };
      isSmaller = true;
    }
    if (!isSmaller) parts *= 2;
    if (trials > SHRINK_TRIALS_MAX) break;
  }
  for (let isSmaller = best.cases.length === 1; isSmaller && trials <= SHRINK_TRIALS_MAX;) {
    isSmaller = false;
    for (const candidate of target.shrink(best.cases[0])) {
      const faults = await isStill([candidate]);
      if (trials > SHRINK_TRIALS_MAX) break;
      if (faults === null) continue;
      best = { ...best, cases: [candidate], faults };
      isSmaller = true;
      break;
    }
  }
  return best;
}

function kindOf(faults: readonly string[]): string | null {
  return faults.length === 0 ? null : faults[0].split(':', 1)[0];
}
