import { countOpenFiles } from '../../../shared/base/process/machine-limits';

/** How often open files are counted: in this time, connections and stores open fewer files than the reserve. */
const CHECK_MS = 500;
/** Files kept free for probes, for answering clients that there is no room, and for work under way. */
const RESERVED_FILES = 48;

/**
 * Counts all open files, whoever opened them. The shares in capacity.ts assume what a shard usually takes, and a shard
 * with very many tables takes more.
 */
export class OpenFilesWatch {
  private open = 0;
  private looking = false;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly openFilesMax: number) {
    this.timer = setInterval(() => void this.look(), CHECK_MS);
    this.timer.unref();
  }

  /** Whether so few files are left that nothing more should be accepted. */
  get isShort(): boolean {
    return this.open > this.openFilesMax - RESERVED_FILES;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    this.open = (await countOpenFiles(this.openFilesMax)) ?? 0;
    this.looking = false;
  }
}
