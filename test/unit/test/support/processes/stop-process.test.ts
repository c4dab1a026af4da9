import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { stopProcess } from '../../../../support/processes/stop-process';

/** Three threads never rest; the main thread answers every line. */
const BUSY = `
  const { Worker } = require('node:worker_threads');
  for (let thread = 0; thread < 3; thread++) new Worker('for (;;);', { eval: true });
  process.stdin.on('data', () => process.stdout.write('here\\n'));
  process.stdout.write('ready\\n');
`;

let busy: ChildProcess;

const rest = (): Promise<void> => new Promise((wake) => setTimeout(wake, 20));

beforeEach(async () => {
  busy = spawn(process.execPath, ['-e', BUSY], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(busy.stdout!, 'data');
});

afterEach(async () => {
  busy.kill('SIGKILL');
  await once(busy, 'exit');
});

test('no thread of a process does anything once it is stopped, and it goes on with SIGCONT', async () => {
  const pid = busy.pid!;
  for (let round = 0; round < 20; round++) {
    stopProcess(pid);
    let answers = 0;
    busy.stdout!.on('data', () => (answers += 1));
    busy.stdin!.write('\n');
    // A thread shows that it stands a moment before the kernel has counted what it used last.
    await rest();
    const used = processorTimeOf(pid);
    await rest();
    expect([answers, processorTimeOf(pid)]).toEqual([0, used]);
    busy.stdout!.removeAllListeners('data');
    process.kill(pid, 'SIGCONT');
    await once(busy.stdout!, 'data');
  }
});

test('a process that is gone is an error', async () => {
  const gone = spawn(process.execPath, ['-e', '']);
  await once(gone, 'exit');
  expect(() => stopProcess(gone.pid!)).toThrow(/ESRCH/);
});

/**
 * What each thread has used, in nanoseconds: the first field of schedstat (Linux, Documentation/scheduler/sched-stats).
 */
function processorTimeOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0],
  );
}
