import type { Network } from '../network';
import type { Schedule } from '../schedule';

/** A coordinator's process as a place of the network: it stands still, or ends, while what it has sent is on its way. */
export class SimulatedProcess {
  isAlive = true;
  /** What it sends is so long on its way, whatever becomes of it. */
  delayMs = 0;
  private isPaused = false;
  private deferred: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly network: Network,
    private readonly schedule: Schedule,
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
    if (this.delayMs > 0) this.schedule.after(this.delayMs, send);
    else send();
  }

  /** What arrives at it does nothing if it is gone, and something later if it stands still. */
  receive(act: () => void): void {
    if (!this.isAlive) return;
    if (this.isPaused) return void this.deferred.push(act);
    this.touch();
    act();
  }
}
