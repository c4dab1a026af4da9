import type { Operation } from './oracle';
import type { NodeDependencies } from './simulated-node';
import type { Registers } from './simulated-storage';
import { payloadOf } from './written';

const KEYS = ['x', 'y'];

/**
 * Writes and reads one operation after the other, wherever it guesses the primary to be, and sends again what got no
 * answer.
 */
export class SimulatedClient {
  acknowledged = 0;
  private readonly name: string;
  private readonly around: NodeDependencies<Registers>;
  private readonly nextValue: () => number;
  private readonly until: number;
  private requests = 0;
  private guess: string;

  constructor(options: { name: string; around: NodeDependencies<Registers>; nextValue: () => number; until: number }) {
    this.name = options.name;
    this.around = options.around;
    this.nextValue = options.nextValue;
    this.until = options.until;
    this.guess = this.around.chance.pick(this.nodes());
  }

  run(): void {
    const { schedule, chance, oracle } = this.around;
    if (schedule.now > this.until) return;
    const isWrite = chance.happens(0.5) && schedule.now >= (this.around.lullUntil ?? 0);
    const key = chance.pick(KEYS);
    const operation: Operation = {
      type: isWrite ? 'write' : 'read',
      key,
      value: isWrite ? this.nextValue() : null,
      invokedAt: schedule.now,
      answeredAt: Infinity,
    };
    oracle.operations.push(operation);
    this.attempt(operation, {
      requestNumber: ++this.requests,
      payload: isWrite ? payloadOf({ key, value: operation.value! }) : null,
      deadline: schedule.now + 1500 + chance.unit() * 1500,
      done: false,
    });
  }

  private nodes(): string[] {
    return [...this.around.nodes.keys()];
  }

  private attempt(
    operation: Operation,
    request: { requestNumber: number; payload: Buffer | null; deadline: number; done: boolean },
  ): void {
    const { schedule, chance, network, nodes, counts, threads } = this.around;
    if (request.done) return;
    if (schedule.now > request.deadline) return this.finish(request);
    // Reads go to any replica, and some by an old map to where one once was.
    const target = nodes.get(
      operation.type === 'read' && chance.happens(0.4) ? chance.pick(this.nodes()) : this.guess,
    )!;
    let answered = false;
    const take = (ok: boolean, value?: number | null): void => {
      if (request.done || answered) return;
      answered = true;
      if (!ok) return this.retry(operation, request, 20 + chance.unit() * 60);
      operation.answeredAt = schedule.now;
      if (operation.type === 'read') operation.value = value ?? null;
      counts[operation.type === 'read' ? 'reads' : 'writes']++;
      this.acknowledged++;
      this.finish(request);
    };
    const reply = (ok: boolean, value?: number | null): void =>
      network.send(target.id, this.name, () => take(ok, value));
    const reading: Parameters<typeof target.threadRead<number | null>> = [
      ({ values }) => values.get(operation.key) ?? null,
      (value) => reply(value !== undefined, value),
    ];
    network.send(this.name, target.id, () => {
      if (request.payload === null && threads === true)
        return target.receiveOnThread(() => target.threadRead(...reading));
      return target.receive(() => {
        if (request.payload === null) return target.read(...reading);
        const source = {
          session: this.name,
          requestNumber: request.requestNumber,
          settledBelow: request.requestNumber,
        };
        target.write({ source, payload: request.payload }, (answer) => reply(answer.ok));
      });
    });
    schedule.after(operation.type === 'read' ? 1400 : 350, () => take(false));
  }

  private retry(operation: Operation, request: Parameters<SimulatedClient['attempt']>[1], delay: number): void {
    const { schedule, chance, etcd } = this.around;
    // Mostly as the routes say, sometimes anywhere: old primaries get their share.
    this.guess = chance.happens(0.5)
      ? (etcd.current.assignment.primary?.node ?? this.guess)
      : chance.pick(this.nodes());
    schedule.after(delay, () => this.attempt(operation, request));
  }

  private finish(request: { done: boolean }): void {
    request.done = true;
    this.around.schedule.after(this.around.chance.around(60), () => this.run());
  }
}
