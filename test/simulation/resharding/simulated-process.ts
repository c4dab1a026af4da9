import type { Network } from '../network';

/**
 * A coordinator's process as a place of the network: it stands still, or ends, while what it has sent is on its way.
 */
export class SimulatedProcess {
  isAlive = true;
  /** What it sends goes out later, whatever becomes of it. null: at once. */
  late: ((send: () => void) => void) | null = null;
  private isPaused = false;
  private deferred: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly network: Network,
    private readonly touch: () => void,
  ) {}

  /** Nothing of what it had under way ever ends for it. */
  kill(): void {
    this.isAlive = false;
    this.deferred = [];
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (const act of this.deferred.splice(0)) this.receive(act);
  }

  send(to: string, deliver: () => void): void {
    if (!this.isAlive) return;
    const send = (): void => this.network.send(this.name, to, deliver);
    if (this.late === null) send();
    else this.late(send);
  }

  /** What arrives at it does nothing if it is gone, and something later if it stands still. */
  receive(act: () => void): void {
    if (!this.isAlive) return;
    if (this.isPaused) return void this.deferred.push(act);
    this.touch();
    act();
  }
}
