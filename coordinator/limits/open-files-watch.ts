import { countOpenFiles } from '../../shared/process/machine-limits';

/** How often open files are counted: between two looks connections and stores open fewer than the reserve. */
const LOOK_MS = 500;
/** Files kept free for probes, for telling clients that there is no room, and for what is under way. */
const RESERVED_FILES = 48;

/**
 * Looks how many files are open, whoever opened them: the shares that capacity.ts gives out are by what a shard usually
 * takes, and one with very many tables takes more.
 */
export class OpenFilesWatch {
  private open = 0;
  private looking = false;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly openFilesMax: number) {
    this.timer = setInterval(() => void this.look(), LOOK_MS);
    this.timer.unref();
  }

  /** Whether so few files are left that nothing should be taken on. */
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
