import { request } from 'node:http';
import { API_KEY } from '../processes/cluster-processes';
import { seededRandom } from '../values/random';
import type { RegisterOperation } from './register-history';

const DIM = 4;
const CALL_TIMEOUT_MS = 20_000;
/**
 * Between two operations of a client. Eight clients then ask some 70 times a second, so that calls are under way
 * whenever something breaks, and histories stay small enough to be checked pair by pair. Without rest they would take
 * the processors from what is tested: a call costs six processes five milliseconds.
 */
const PAUSE_MS = 100;
/** So few that each is asked for six times a second: what is lost or outdated is seen while it is. */
const IDS = 12;
/** Of each kind, in the story of a failure. */
const ERRORS_SHOWN = 5;

/**
 * Clients that write, delete and read a few ids through the given coordinators at random, and write down what they saw.
 * Half of the reads are searches: they take another way through a node (READ_THREADS).
 * A write whose answer is an error or never came is unknown: it may have taken effect, or take effect later.
 */
export class RegisterWorkload {
  readonly history: RegisterOperation[] = [];
  /**
   * Calls that were not answered with success, by message: when each was sent, and for how many milliseconds, by whom.
   */
  readonly errors = new Map<string, { atMs: number; tookMs: number; by: string }[]>();
  private readonly running: Promise<void>[];
  private stopped = false;
  private version = 0;

  constructor(private readonly options: { urls: () => string[]; collection: string; seed: number; clients?: number }) {
    const random = seededRandom(options.seed);
    this.running = Array.from({ length: options.clients ?? 8 }, (_, client) =>
      this.run(client, seededRandom(Math.floor(random() * 2 ** 31))),
    );
  }

  get acknowledged(): number {
    return this.history.filter(({ kind, outcome }) => kind !== 'read' && outcome === 'ok').length;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
  }

  /** Reads every id once more through one coordinator; part of the history. */
  async readAll(url: string): Promise<void> {
    for (let i = 0; i < IDS; i += 1) await this.perform(-1, 'read', `id-${i}`, url);
  }

  /** The errors in lines: how often each, and some of them with seconds since `beganMs`. */
  errorsSince(beganMs: number): string {
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    const shown = [...this.errors].map(([message, calls]) => {
      const first = calls
        .slice(0, ERRORS_SHOWN)
        .map(({ atMs, tookMs, by }) => `at ${seconds(atMs - beganMs)} s for ${seconds(tookMs)} s through ${by}`);
      return `${calls.length} times "${message}": ${first.join(', ')}`;
    });
    return shown.length === 0 ? 'none' : shown.join('\n');
  }

  private note(message: string, { invokedMs }: RegisterOperation, by: string): void {
    const call = { atMs: invokedMs, tookMs: performance.now() - invokedMs, by };
    const known = this.errors.get(message);
    if (known === undefined) this.errors.set(message, [call]);
    else known.push(call);
  }

  private async run(client: number, random: () => number): Promise<void> {
    while (!this.stopped) {
      const urls = this.options.urls();
      const url = urls[Math.floor(random() * urls.length)];
      const id = `id-${Math.floor(random() * IDS)}`;
      const draw = random();
      await this.perform(client, draw < 0.4 ? 'write' : draw < 0.5 ? 'delete' : 'read', id, url, draw >= 0.75);
      await new Promise((wake) => setTimeout(wake, PAUSE_MS));
    }
  }

  private async perform(
    client: number,
    kind: RegisterOperation['kind'],
    id: string,
    url: string,
    isSearch = false,
  ): Promise<void> {
    const value = kind === 'write' ? ++this.version : null;
    const operation: RegisterOperation = {
      client,
      id,
      kind,
      value,
      invokedMs: performance.now(),
      returnedMs: Infinity,
      outcome: 'unknown',
    };
    this.history.push(operation);
    const path = `/v1/collections/${this.options.collection}`;
    try {
      const answer =
        kind === 'write'
          ? await call(url, 'POST', `${path}/upsert`, {
              external_id: id,
              vector: Array.from({ length: DIM }, (_, i) => i + (value as number)),
              metadata: { value, id },
            })
          : kind === 'delete'
            ? await call(url, 'DELETE', `${path}/delete/${id}`)
            : isSearch
              ? await found(url, path, id)
              : await call(url, 'GET', `${path}/vectors/${id}`);
      const isAbsent = answer.error?.code === 404;
      if (answer.status === 'success' || (kind !== 'write' && isAbsent)) {
        operation.returnedMs = performance.now();
        operation.outcome = 'ok';
        if (kind === 'read') operation.value = isAbsent ? null : (answer.data.metadata.value as number);
        return;
      }
      this.note(answer.error?.message ?? 'no message', operation, url);
    } catch (error) {
      this.note(`broken connection: ${(error as Error).message}`, operation, url);
      // The coordinator is gone: its clients do not ask again at once.
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }
}

/** The item as a search finds it, in the form in which it is read by its id. */
async function found(url: string, path: string, id: string): ReturnType<typeof call> {
  const answer = await call(url, 'POST', `${path}/search`, {
    vector: Array.from({ length: DIM }, () => 1),
    k: 1,
    filters: { id },
  });
  if (answer.status !== 'success') return answer;
  const [hit] = answer.data.results as { metadata: object }[];
  return hit === undefined
    ? { status: 'error', data: null, error: { code: 404, message: 'no hit' } }
    : { ...answer, data: hit };
}

function call(
  base: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: string; data: any; error: { code: number; message: string } | null }> {
  return new Promise((done, fail) => {
    const sent = request(
      base + path,
      { method, headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }, timeout: CALL_TIMEOUT_MS },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', fail);
        answer.on('end', () => {
          try {
            done(JSON.parse(Buffer.concat(chunks).toString()));
          } catch (error) {
            fail(error as Error);
          }
        });
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', fail);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
