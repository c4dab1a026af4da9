import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of package.json, at or above `folder`: the sources and the compiled files in dist have different depths.
 */
export function packageRoot(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) throw new Error(`no package.json above ${folder}`);
  }
}
