import { readFileSync } from 'node:fs';

/** What a process has had of processors, in milliseconds; null: it is gone, or the system does not say it. */
export function processorTimeOf(pid: number | undefined): number | null {
  try {
    // Behind the name, which may hold anything: user and system time are the 12th and 13th field, in hundredths of a
    // second.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}
