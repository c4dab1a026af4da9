import { setPriority } from 'node:os';

/**
 * Those who serve come first: from now on this thread takes what they leave of the processors. Only on Linux, where a
 * priority is that of the thread that asks; elsewhere it would be that of the process.
 */
export function yieldToServing(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(niceness);
  } catch {
    // A process that runs with less already may not set it.
  }
}
