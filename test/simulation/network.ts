import type { Chance } from './chance';
import type { Schedule } from './schedule';

/**
 * Messages between named places: delayed, lost, doubled, overtaking each other (worse than any stream does), and
 * blocked one way or both. With `ordered`, messages between two nodes keep their order and a loss breaks the stream, as
 * gRPC does.
 */
export class Network {
  loss = 0;
  duplicates = 0;
  /** Probability of a delay of up to three seconds. */
  longDelays = 0;
  ordered = false;
  /** "from>to" */
  readonly blocked = new Set<string>();
  private readonly streams = new Map<string, { lastAt: number; broken: boolean; generation: number }>();
  private readonly schedule: Schedule;
  private readonly chance: Chance;

  constructor(options: { schedule: Schedule; chance: Chance }) {
    this.schedule = options.schedule;
    this.chance = options.chance;
  }

  send(from: string, to: string, deliver: () => void): void {
    const link = `${from}>${to}`;
    if (this.blocked.has(link) || this.chance.happens(this.loss)) return;
    this.transmit(link, deliver);
    if (this.chance.happens(this.duplicates)) this.transmit(link, deliver);
  }

  /** As `send`, on a stream between nodes; `restarted` tells the sender of a new one. */
  stream(from: string, to: string, deliver: () => void, restarted: () => void): void {
    if (!this.ordered) return this.send(from, to, deliver);
    const link = `${from}>${to}`;
    const stream = this.streams.get(link) ?? { lastAt: 0, broken: false, generation: 0 };
    this.streams.set(link, stream);
    if (stream.broken) return;
    if (this.blocked.has(link) || this.chance.happens(this.loss * 0.2)) {
      stream.broken = true;
      stream.generation++;
      this.schedule.after(30 + this.chance.around(100), () => {
        stream.broken = false;
        restarted();
      });
      return;
    }
    const { generation } = stream;
    stream.lastAt = Math.max(stream.lastAt, this.schedule.now + this.delay());
    this.schedule.after(stream.lastAt - this.schedule.now, () => {
      if (stream.generation === generation && !this.blocked.has(link)) deliver();
    });
  }

  heal(): void {
    this.blocked.clear();
    this.loss = 0;
    this.duplicates = 0;
    this.longDelays = 0;
  }

  private transmit(link: string, deliver: () => void): void {
    this.schedule.after(this.delay(), () => {
      if (!this.blocked.has(link)) deliver();
    });
  }

  private delay(): number {
    const tail = this.chance.happens(this.longDelays) ? this.chance.unit() * 3000 : 0;
    return 0.5 + this.chance.around(3) + tail;
  }
}
