import { readFileSync } from 'node:fs';

/** What a process has had of processors, in milliseconds; null: it is gone, or the system does not say it. */
export function processorTimeOf(pid: number | undefined): number | null {
  return timeIn(`/proc/${pid}/stat`);
}

/** The same of its main thread alone. */
export function mainThreadTimeOf(pid: number | undefined): number | null {
  return timeIn(`/proc/${pid}/task/${pid}/stat`);
}

function timeIn(path: string): number | null {
  try {
    // Behind the name, which may hold anything: user and system time are the 12th and 13th field, in hundredths of a
    // second.
    const fields = readFileSync(path, 'utf8').split(') ').at(-1)!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}
