import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority, replaceFile } from '../../support/cluster/certificate-authority';
import { EmbeddedProcess } from '../../support/processes/embedded-process';
import { SecuredClient } from '../../support/http/secured-client';
import { Canary } from '../canary';
import { below, type FuzzTarget, pick } from '../fuzz-target';
import { faultsOfProbe, faultsOfProcess } from '../process-oracle';
import { LOADED, ThreadLoad, type ThreadService } from './thread-load';

/**
 * How threads end: as the service ends them, by `process.exit` inside, and by an error that nobody takes. Not by
 * Worker.terminate, which ends the process where Node's parser of HTTP is at work; the service falls back on it for
 * threads that stand still.
 */
const WAYS = ['end', 'exit', 'error'] as const;

/** Threads that end while requests of many clients are under way. */
export interface ThreadCase {
  /** Of the load. */
  seed: number;
  clients: number;
  endings: { afterMs: number; at: number; how: (typeof WAYS)[number] }[];
}

const THREADS = 3;
const CLIENTS_MAX = 12;
const ENDINGS_MAX = 6;
const AFTER_MS_MAX = 700;
/** The load goes on for so long behind the last ending. */
const LAST_MS = 300;
/** For how long an honest client asks again: a thread may have ended just now, with the connection that it asked on. */
const CANARY_WITHIN_MS = 20_000;
const CANARY_PAUSE_MS = 200;
/** What a log says of a thread that was ended is no fault. */
const EXPECTED =
  /a thread that serves the API (?:has ended; it is replaced|could not start)|this thread was to be ended/;

/** An embedded process with several HTTP threads and TLS, whose threads are ended under load. */
export class ThreadTarget implements FuzzTarget<ThreadCase> {
  readonly name = 'threads';
  readonly casesPerCheck = 1;
  private open: {
    server: EmbeddedProcess;
    folder: string;
    authority: CertificateAuthority;
    service: ThreadService;
    client: SecuredClient;
  } | null = null;

  constructor(private readonly environment: Record<string, string> = {}) {}

  async start(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-threads-'));
    const file = (name: string): string => join(folder, name);
    const authority = new CertificateAuthority('threads');
    const { cert, key } = authority.issue('threads');
    replaceFile(file('api.key'), key);
    replaceFile(file('api.pem'), cert);
    const preloaded = ['sanitized-addons.cjs', join('threads', 'ended-threads.cjs')]
      .map((name) => `--require ${join(__dirname, '..', name)}`)
      .join(' ');
    const server = new EmbeddedProcess({
      environment: {
        ...this.environment,
        NODE_OPTIONS: preloaded,
        QUIVER_ENDED_THREADS: file('endings'),
        HTTP_THREADS: String(THREADS),
        API_TLS_CERT_FILE: file('api.pem'),
        API_TLS_KEY_FILE: file('api.key'),
      },
    });
    const service = { port: 0, key: server.apiKey, ca: authority.pem };
    this.open = {
      server,
      folder,
      authority,
      service,
      client: new SecuredClient({ port: 0, ca: authority.pem, key: server.apiKey }),
    };
    await server.start();
    service.port = server.port;
    this.open.client = new SecuredClient({ port: server.port, ca: authority.pem, key: server.apiKey });
    await Canary.store((method, path, body) => this.call(method, path, body));
    await this.call('POST', '/v1/collections', LOADED);
  }

  generate(random: () => number): ThreadCase {
    return {
      seed: below(random, 2 ** 31),
      clients: 2 + below(random, CLIENTS_MAX - 1),
      endings: Array.from({ length: 1 + below(random, ENDINGS_MAX) }, () => ({
        afterMs: below(random, AFTER_MS_MAX),
        at: below(random, 100),
        how: pick(random, WAYS),
      })),
    };
  }

  async run({ seed, clients, endings }: ThreadCase): Promise<string[]> {
    const load = new ThreadLoad(this.running.service);
    load.start(seed, clients);
    for (const { afterMs, ...ending } of endings) {
      await pause(afterMs);
      await this.end(ending);
    }
    await pause(LAST_MS);
    await load.stop();
    return [];
  }

  async check(): Promise<string[]> {
    const { server } = this.running;
    const output = server.output
      .split('\n')
      .filter((line) => !EXPECTED.test(line))
      .join('\n');
    const faults = faultsOfProcess({ name: 'embedded', pid: this.isAlive() ? server.pid : null, output });
    if (faults.some((fault) => fault.startsWith('death'))) return faults;
    faults.push(...(await faultsOfProbe('embedded', server.opsPort)));
    const { wrong, refused } = await this.looked();
    return [...faults, ...wrong, ...refused.map((what) => `canary: refused, ${what}`)];
  }

  shrink(given: ThreadCase): ThreadCase[] {
    const fewer =
      given.endings.length > 1
        ? given.endings.map((_, i) => ({ ...given, endings: given.endings.filter((_ending, place) => place !== i) }))
        : [];
    return given.clients > 2 ? [{ ...given, clients: Math.ceil(given.clients / 2) }, ...fewer] : fewer;
  }

  async stop(): Promise<void> {
    const { open } = this;
    this.open = null;
    open?.client.close();
    await open?.server.destroy();
    open?.authority.destroy();
    if (open !== null) rmSync(open.folder, { recursive: true, force: true });
  }

  private get running(): NonNullable<ThreadTarget['open']> {
    if (this.open === null) throw new Error('not started');
    return this.open;
  }

  private isAlive(): boolean {
    return existsSync(`/proc/${this.running.server.pid}/stat`) && this.running.server.endedBy === null;
  }

  private end(ending: { at: number; how: string }): Promise<void> {
    return new Promise((done) => {
      const socket = connect(join(this.running.folder, 'endings'));
      socket.on('error', () => done());
      socket.on('close', () => done());
      socket.end(`${JSON.stringify(ending)}\n`);
      socket.resume();
    });
  }

  private async call(method: string, path: string, body?: unknown): Promise<any> {
    return (await this.running.client.call(method, path, body)).json;
  }

  private async looked(): Promise<{ wrong: string[]; refused: string[] }> {
    const untilMs = performance.now() + CANARY_WITHIN_MS;
    for (;;) {
      const look = await Canary.look((method, path, body) => this.call(method, path, body)).catch((error: Error) => ({
        wrong: [],
        refused: [error.message],
      }));
      if (look.wrong.length > 0 || look.refused.length === 0 || performance.now() > untilMs) return look;
      await pause(CANARY_PAUSE_MS);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}
