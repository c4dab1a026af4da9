import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of the program, as its package.json has it; `unknown` where that was not shipped. */
export function programVersion(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    try {
      return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return 'unknown';
    }
  }
  return 'unknown';
}
