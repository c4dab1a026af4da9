import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import type { TargetName } from './fuzz-target';

/** What was found, so that it can be run again: the cases in order, and what was wrong after them. */
export interface Finding {
  target: TargetName;
  /** Of the run that found it. */
  seed: number;
  cases: unknown[];
  faults: string[];
}

/** Writes the finding under a name of its content; answers the path. */
export function writeFinding(folder: string, finding: Finding): string {
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(JSON.stringify(finding.cases)).digest('hex').slice(0, 12);
  const file = join(folder, `${finding.target}-${digest}.json`);
  writeFileSync(file, `${JSON.stringify(finding, null, 1)}\n`);
  return file;
}

/** The findings that lie in a folder, by file name. */
export function findingsIn(folder: string): { name: string; finding: Finding }[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, finding: JSON.parse(readFileSync(join(folder, name), 'utf8')) as Finding }));
}
