import { readdirSync, readFileSync } from 'node:fs';

/** How long the kernel may take until every thread of a process stands, in milliseconds. */
const DEADLINE_MS = 60_000;

/**
 * Freezes a process (SIGSTOP), and returns only when every thread of it stands. The signal alone is not enough: `kill`
 * returns when it is sent, and a thread on another processor may still answer what comes a moment later. SIGCONT lets
 * it go on.
 *
 * @throws if the process is gone, or has not stood still after a minute.
 */
export function stopProcess(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const end = Date.now() + DEADLINE_MS;
  while (!everyThreadStands(pid)) {
    if (Date.now() > end) throw new Error(`process ${pid} does not stand still after SIGSTOP`);
    Atomics.wait(pause, 0, 0, 1);
  }
}

function everyThreadStands(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => stateOf(pid, thread) === 'T');
}

/** The state letter of a thread, behind its name in brackets (proc(5)); a thread that has ended stands, too. */
function stateOf(pid: number, thread: string): string {
  try {
    const line = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return line.charAt(line.lastIndexOf(')') + 2);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 'T';
    throw error;
  }
}
