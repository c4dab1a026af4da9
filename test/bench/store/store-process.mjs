import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processorSeconds } from '../process-facts.mjs';

const CHILD = fileURLToPath(new URL('store-child.mjs', import.meta.url));
/** A candidate that hangs must not hold the others up; the longest command, a load, takes some ten seconds. */
const COMMAND_MS_MAX = 180_000;
/**
 * Compactions go on after a measure; they may not fall into the turn of another candidate, nor keep it waiting for
 * ever.
 */
const REST_MS = 200;
const REST_SHARE = 0.05;
const RESTS_MAX = 50;

/**
 * A candidate's process, asked one command after the other. Errors of a command leave it running; `died` says why it
 * can't be asked.
 */
export class StoreProcess {
  died = null;
  #waiting = null;
  #complaints = '';

  constructor({ adapter, options }, { node = process.execPath } = {}) {
    this.child = fork(CHILD, [adapter, JSON.stringify(options)], {
      execPath: node,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    this.child.stderr
      .setEncoding('utf8')
      .on('data', (text) => (this.#complaints = (this.#complaints + text).slice(-4000)));
    this.child.on('message', (answer) => this.#settle(answer));
    this.child.on('close', (code, signal) => {
      const lines = this.#complaints.trim().split('\n');
      const reason = lines.find((line) => /error|free\(\)|bad_alloc|terminate/i.test(line)) ?? lines.at(-1);
      this.died = `${signal ?? `exit code ${code}`}${reason ? `: ${reason.trim()}` : ''}`;
      this.#settle({ error: this.died });
    });
    this.ready = this.#answer();
    this.ready.catch(() => undefined);
  }

  /** Sends a command; resolves to its result, rejects with what went wrong in it or with the process. */
  async ask(command, words = {}) {
    await this.ready;
    if (this.died !== null) throw new Error(this.died);
    const answer = this.#answer();
    this.child.send({ command, words });
    return answer;
  }

  /** Waits until the process uses next to no processor. */
  async rest() {
    for (let i = 0; i < RESTS_MAX; i++) {
      const before = processorSeconds(this.child.pid);
      await delay(REST_MS);
      const after = processorSeconds(this.child.pid);
      if (before === null || after === null || (after - before) * 1000 <= REST_SHARE * REST_MS) return;
    }
  }

  /** Kills with SIGKILL, as a crash would, and waits for the end. */
  async kill() {
    if (this.died !== null) return;
    const ended = new Promise((done) => this.child.once('close', done));
    this.child.kill('SIGKILL');
    await ended;
  }

  #answer() {
    return new Promise((done, fail) => {
      const timer = setTimeout(
        () => this.#settle({ error: `no answer for ${COMMAND_MS_MAX / 1000} s` }),
        COMMAND_MS_MAX,
      );
      this.#waiting = ({ result, error }) => {
        clearTimeout(timer);
        if (error === undefined) done(result);
        else fail(new Error(error));
      };
    });
  }

  #settle(answer) {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(answer);
  }
}

/** Starts a process for `candidate`, gives it to `work`, and ends it. */
export async function withStoreProcess(candidate, work, options) {
  const store = new StoreProcess(candidate, options);
  try {
    return await work(store);
  } finally {
    await store.kill();
  }
}
