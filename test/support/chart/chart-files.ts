import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parse } from 'yaml';

export const ROOT = resolve(__dirname, '../../..');
export const CHART = join(ROOT, 'helm');
/** Values of each case, as `<case>.yaml`. */
export const CASES = join(ROOT, 'test/chart/cases');

/** Names of the sets of values that the chart is rendered with. */
export const caseNames = readdirSync(CASES)
  .map((file) => file.replace(/\.yaml$/, ''))
  .sort();

/** The values that a user gives in this case. */
export function caseValues(name: string): Record<string, unknown> {
  return (parse(readFileSync(join(CASES, `${name}.yaml`), 'utf8')) ?? {}) as Record<string, unknown>;
}

/** Files that the templates carry over as they are; the goldens hold a mark in their place. */
export const CARRIED = /^files\/(?:alerts\.yaml|.*dashboard.*\.json)$/;

/** A hash of all that decides what is rendered: by it a golden manifest that is out of date is known without Helm. */
export function renderingHash(): string {
  const hash = createHash('sha256');
  const add = (folder: string, isIn: (path: string) => boolean): void => {
    const files = readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.filter((path) => isIn(relative(folder, path))).sort())
      hash.update(`\n${relative(ROOT, file)}\n`).update(readFileSync(file));
  };
  add(CHART, (path) => path !== 'README.md' && path !== 'values.schema.json' && !CARRIED.test(path));
  add(CASES, () => true);
  return hash.digest('hex');
}
