import { spawnSync } from 'node:child_process';

/**
 * Prometheus's own checker (Debian's package `prometheus`), from PATH or where PROMTOOL says; null where there is none.
 */
export function findPromtool(): string | null {
  const path = process.env.PROMTOOL ?? 'promtool';
  const found = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (found.status === 0) return path;
  console.warn(
    'promtool is not here: the tests that need it are skipped (Debian: apt-get install prometheus, or PROMTOOL=/path/to/promtool)',
  );
  return null;
}

/** Runs it; answers its exit code and what it said. */
export function runPromtool(
  promtool: string,
  words: string[],
  input?: string,
): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(promtool, words, { encoding: 'utf8', input });
  return { status, said: stdout + stderr };
}
