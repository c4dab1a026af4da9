import { readFileSync } from 'node:fs';

/** Lines of a log that no client may cause: errors, crashes, and what runtime and sanitizers say of themselves. */
const COMPLAINT =
  /"level":(?:50|60)|unhandled|uncaught|FATAL ERROR|AddressSanitizer|runtime error:|MaxListenersExceeded/;
/**
 * Far above what a process holds that has been fed small cases for hours, far below what a leak of each case reaches.
 */
const RESIDENT_MAX_MIB = 1_536;

/** What a process's own record says against it. `output` is all that it has printed. */
export function faultsOfProcess(process: { name: string; pid: number | null; output: string }): string[] {
  const faults = process.output
    .split('\n')
    .filter((line) => COMPLAINT.test(line))
    .slice(0, 5)
    .map((line) => `log: ${process.name}: ${line.slice(0, 600)}`);
  if (process.pid === null) return [...faults, `death: ${process.name} is gone: ${process.output.slice(-2_000)}`];
  const resident = residentMiB(process.pid);
  if (resident === null) return [...faults, `death: ${process.name} is gone: ${process.output.slice(-2_000)}`];
  return resident > RESIDENT_MAX_MIB ? [...faults, `memory: ${process.name} holds ${resident} MiB`] : faults;
}

export function residentMiB(pid: number): number | null {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? null : Math.round(Number(found[1]) / 1024);
  } catch {
    return null;
  }
}

const LIVEZ_WITHIN_MS = 60_000;

/** Whether `/livez` of an operations port answers. */
export async function faultsOfProbe(name: string, opsPort: number): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${opsPort}/livez`, {
    signal: AbortSignal.timeout(LIVEZ_WITHIN_MS),
  }).catch((error: Error) => error);
  return answer instanceof Error || answer.status !== 200
    ? [`livez: ${name} answered ${answer instanceof Error ? answer.message : answer.status}`]
    : [];
}
