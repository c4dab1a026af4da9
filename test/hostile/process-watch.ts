import { readFileSync } from 'node:fs';
import { processorTimeOf } from '../support/processes/processor-time';

const SAMPLE_MS = 100;

/** Watches the memory of processes. */
export class ProcessWatch {
  private readonly peaks = new Map<string, number>();
  private readonly first = new Map<string, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly members: readonly { name: string; pid: number }[]) {
    this.timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.sample();
  }

  /**
   * Highest resident memory of each process in mebibytes, by how much that is more than at first, and the names of
   * those that are gone.
   */
  end(): { peakMiB: Record<string, number>; grownMiB: Record<string, number>; gone: string[] } {
    clearInterval(this.timer);
    const gone = this.sample();
    const grownMiB = Object.fromEntries(
      [...this.peaks].map(([name, peak]) => [name, peak - (this.first.get(name) ?? peak)]),
    );
    return { peakMiB: Object.fromEntries(this.peaks), grownMiB, gone };
  }

  /**
   * Seconds of processor time that the processes have used since they began, all together; 0 where the system does not
   * say it.
   */
  processorSeconds(): number {
    return this.members.reduce((sum, { pid }) => sum + (processorTimeOf(pid) ?? 0), 0) / 1000;
  }

  private sample(): string[] {
    return this.members.flatMap(({ name, pid }) => {
      const kib = residentKiB(pid);
      if (kib === null) return [name];
      const mib = Math.round(kib / 1024);
      if (!this.first.has(name)) this.first.set(name, mib);
      this.peaks.set(name, Math.max(this.peaks.get(name) ?? 0, mib));
      return [];
    });
  }
}

/** The highest that a process has held, null when it is gone. */
function residentKiB(pid: number): number | null {
  try {
    const found = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}
