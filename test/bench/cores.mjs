import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Of setting the cores of all threads. */
const PIN_FAILURES_MAX = 10;

/** The cores that this process may use. */
export function allowedCores() {
  const [, list] = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  if (list === undefined) return Array.from({ length: availableParallelism() }, (_, core) => core);
  return list.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Whether this system can tell threads where to run. */
export function canPin() {
  return spawnSync('taskset', ['--version']).status === 0;
}

/**
 * What to start so that a program runs on some cores only. @param {string} program @param {string[]} words @param
 * {number[]} cores
 */
export function pinned(program, words, cores) {
  return { program: 'taskset', words: ['-c', cores.join(','), program, ...words] };
}

/** New threads of this process stay on these cores, too. */
export function pinThisProcess(cores) {
  const words = ['-a', '-c', '-p', cores.join(','), String(process.pid)];
  // It fails if one of the threads ends while it goes through them, as those do that made a load.
  for (let failures = 0; spawnSync('taskset', words, { stdio: 'ignore' }).status !== 0; failures++) {
    if (failures === PIN_FAILURES_MAX) throw new Error(`taskset ${words.join(' ')} fails`);
  }
}
