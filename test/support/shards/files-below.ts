import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The files below a folder in which one of the needles is, byte for byte. A process may be at work there: what goes
 * meanwhile is left out.
 */
export function filesWith(folder: string, needles: readonly Buffer[]): string[] {
  return filesBelow(folder).filter((path) => {
    const bytes = unlessGone(() => readFileSync(path));
    return bytes !== null && needles.some((needle) => bytes.includes(needle));
  });
}

/** Folder by folder: Node's own recursion fails as a whole where a folder goes while it reads. */
function filesBelow(folder: string): string[] {
  const entries: Dirent[] = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
  });
}

/** null: it was not there any more. */
function unlessGone<Found>(read: () => Found): Found | null {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
