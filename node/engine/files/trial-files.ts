import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const NAME = /^\.trial-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The path of a file that is written to see whether a folder can be, and removed at once. */
export function trialFile(folder: string): string {
  return join(folder, `.trial-${randomUUID()}`);
}

/** Removes those that a process left which ended in between. A folder that can't be read or changed stays as it is. */
export function removeTrialFiles(folder: string): void {
  try {
    for (const name of readdirSync(folder)) if (NAME.test(name)) rmSync(join(folder, name), { force: true });
  } catch {
    // Whoever has to write there says so.
  }
}
