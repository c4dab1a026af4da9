import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** Writes everything measured as JSON, with when and on what it was. */
export function writeFigures(file, figures) {
  const machine = {
    processor: cpus()[0]?.model,
    cores: availableParallelism(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
  writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), machine, ...figures }, null, 2)}\n`);
}
