import { Agent, request } from 'node:http';
import { Agent as SecuredAgent, request as requestSecured } from 'node:https';

/** What a client with a schedule saw. */
export interface Waits {
  /** Milliseconds from when each request was due until its answer, in order of being due. */
  waitsMs: number[];
  /** Answers that were refusals (429), by the envelope or the status. */
  refused: number;
  /** Broken connections and answers that were neither right nor refusals. */
  wrong: string[];
}

export interface Asked {
  host: string;
  port: number;
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body: string;
  /** What a right answer contains. */
  expects: string;
  /** Of the authority of the port's certificate, PEM; null without TLS. */
  ca: string | null;
}

const WRONG_SHOWN_MAX = 5;
/** How exactly requests are sent when they are due. */
const DUE_CHECK_MS = 5;

/**
 * Asks one thing by a fixed schedule, whether or not earlier answers have come: a wait counts from when its request was
 * due, so that a server that stands still for a second is seen by all the requests of that second.
 */
export class HonestClient {
  private readonly agent: Agent;
  private waits: Waits = { waitsMs: [], refused: 0, wrong: [] };
  private timer: NodeJS.Timeout | null = null;
  private open = new Set<Promise<void>>();
  private isOver = false;

  constructor(
    private readonly asked: Asked,
    private readonly everyMs: number,
  ) {
    this.agent =
      asked.ca === null ? new Agent({ keepAlive: true }) : new SecuredAgent({ keepAlive: true, ca: asked.ca });
  }

  begin(): void {
    let dueMs = performance.now() + this.everyMs;
    this.timer = setInterval(
      () => {
        for (const nowMs = performance.now(); dueMs <= nowMs; dueMs += this.everyMs) {
          const asking: Promise<void> = this.ask(dueMs).finally(() => this.open.delete(asking));
          this.open.add(asking);
        }
      },
      Math.min(this.everyMs, DUE_CHECK_MS),
    );
  }

  /** What has been seen since `begin` or the last `restart`; from now on only what comes is counted. */
  restart(): Waits {
    const { waits } = this;
    this.waits = { waitsMs: [], refused: 0, wrong: [] };
    return waits;
  }

  /**
   * Asks nothing more and waits for what is open, for at most `patienceMs`; what has not come by then waited as long as
   * until then.
   */
  async end(patienceMs: number): Promise<Waits> {
    if (this.timer !== null) clearInterval(this.timer);
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      Promise.allSettled([...this.open]),
      new Promise((over) => (timer = setTimeout(over, patienceMs))),
    ]);
    clearTimeout(timer);
    this.isOver = true;
    const unanswered = [...this.open];
    this.agent.destroy();
    await Promise.allSettled(unanswered);
    return this.waits;
  }

  private async ask(dueMs: number): Promise<void> {
    const answer = await this.answer().catch((error: Error) => error);
    this.waits.waitsMs.push(performance.now() - dueMs);
    if (answer instanceof Error) this.wrong(this.isOver ? 'no answer in all the time' : answer.message);
    else if (answer.includes('"code":429')) this.waits.refused += 1;
    else if (!answer.includes(this.asked.expects)) this.wrong(answer.slice(0, 200));
  }

  private wrong(what: string): void {
    if (this.waits.wrong.length < WRONG_SHOWN_MAX) this.waits.wrong.push(what);
  }

  private answer(): Promise<string> {
    const { host, port, method, path, headers, body, ca } = this.asked;
    return new Promise((done, fail) => {
      const sent = (ca === null ? request : requestSecured)({
        host,
        port,
        method,
        path,
        agent: this.agent,
        headers: { ...headers, ...(body === '' ? {} : { 'content-length': Buffer.byteLength(body) }) },
      });
      sent.on('error', fail);
      sent.on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        answer.on('end', () => done(text));
        answer.on('error', fail);
      });
      sent.end(body);
    });
  }
}

/** The value below which the given share of the values lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
