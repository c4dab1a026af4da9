import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Order } from './attacker';
import type { Tally } from './hostile-client';

/** All attacks at once are some hundred megabytes to make up, at the lowest priority. */
const PREPARED_WITHIN_MS = 240_000;

/** The processes of the hostile clients of one attack. They end with this process, whatever becomes of it. */
export class AttackParty {
  private readonly tallies: Tally[];

  private constructor(private readonly children: ChildProcess[]) {
    this.tallies = children.map(() => ({}));
    children.forEach((child, i) => child.on('message', (tally) => (this.tallies[i] = tally as Tally)));
  }

  /** Resolves when every client has its shots ready; nothing has been sent yet. */
  static async prepare(orders: Order[]): Promise<AttackParty> {
    const children = orders.map((order) => {
      const child = spawn(
        process.execPath,
        ['-r', join(__dirname, '../support/swc-register.js'), join(__dirname, 'attacker.ts')],
        { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
      );
      child.send(order);
      return child;
    });
    const patience = AbortSignal.timeout(PREPARED_WITHIN_MS);
    try {
      await Promise.all(
        children.map(
          (child) =>
            new Promise<void>((done, fail) => {
              child.once('message', () => done());
              child.once('exit', () => fail(new Error('a hostile client ended before it was ready')));
              patience.addEventListener('abort', () => fail(new Error('the hostile clients were not ready in time')));
            }),
        ),
      );
    } catch (error) {
      for (const child of children) child.kill('SIGKILL');
      throw error;
    }
    return new AttackParty(children);
  }

  attack(): void {
    for (const child of this.children) child.send('go');
  }

  /** Ends all at once, connections and all; answers what became of their shots. */
  async end(): Promise<Tally> {
    await Promise.all(
      this.children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = new Promise((done) => child.once('exit', done));
        child.kill('SIGKILL');
        await gone;
      }),
    );
    const sum: Tally = {};
    for (const tally of this.tallies)
      for (const [code, count] of Object.entries(tally)) sum[Number(code)] = (sum[Number(code)] ?? 0) + count;
    return sum;
  }
}
