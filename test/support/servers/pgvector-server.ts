import { type ChildProcess, fork } from 'node:child_process';
import { resolve } from 'node:path';
import { freePorts } from './free-ports';

/**
 * PostgreSQL with pgvector: the real ones, compiled to WebAssembly (PGlite), behind a socket of PostgreSQL's own
 * protocol.
 */
export class PgvectorServer {
  address = '';
  private child: ChildProcess | null = null;

  async start(): Promise<void> {
    const [port] = await freePorts(1);
    this.child = fork(resolve(__dirname, 'pgvector-child.cjs'), [String(port)], { execArgv: [] });
    await this.answer();
    this.address = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  }

  async run(sql: string): Promise<void> {
    this.child!.send(sql);
    await this.answer();
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await gone;
  }

  private async answer(): Promise<void> {
    const child = this.child!;
    const message = await new Promise<unknown>((answered) => {
      child.once('message', answered);
      child.once('exit', (code) => answered(`PGlite ended (${String(code)})`));
    });
    child.removeAllListeners();
    if (message !== null) throw new Error(message as string);
  }
}
