import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../servers/free-ports';
import { eventually } from '../eventually';
import { DATA_PARENT } from '../memory-folder';
import { stopProcess } from './stop-process';

const BINARY = '/usr/bin/etcd';
/** One member has nobody to wait for: by etcd's own second it would elect itself that much later after each restart. */
const ALONE = ['--heartbeat-interval', '50', '--election-timeout', '500'];

interface Ports {
  client: number;
  peer: number;
}

/**
 * A real etcd process on free ports of 127.0.0.1, with a data folder of its own: the only member of its cluster, or one
 * of several (EtcdCluster). `stop` is the polite end (SIGTERM), `kill` the rude one (SIGKILL); `start` may follow
 * either, on the same data and ports. `pause` freezes it (SIGSTOP): connections stay, answers don't come. `destroy`
 * ends it in any state and removes the data.
 */
export class EtcdProcess {
  readonly name: string;
  output = '';
  private ports: Ports | null;
  /** name=url of every member, for a member of a cluster. */
  private readonly initialCluster: string | null;
  private readonly flags: readonly string[];
  private readonly dataDir: string;
  private child: ChildProcess | null = null;

  constructor(
    options: {
      name?: string;
      ports?: Ports;
      initialCluster?: string;
      flags?: string[];
      parent?: string | undefined;
    } = {},
  ) {
    if (!existsSync(BINARY))
      throw new Error(`${BINARY} is missing: "npm test" and "npm run fault" install it (Debian's package etcd-server)`);
    this.name = options.name ?? 'etcd';
    this.ports = options.ports ?? null;
    this.initialCluster = options.initialCluster ?? null;
    this.flags = options.flags ?? [];
    this.dataDir = mkdtempSync(join(options.parent ?? DATA_PARENT, 'quiver-etcd-'));
  }

  /** A process that has just been started and answers. `parent`: the folder in which its own is made. */
  static async start(options: { flags?: string[]; parent?: string | undefined } = {}): Promise<EtcdProcess> {
    const etcd = new EtcdProcess(options);
    await etcd.start();
    return etcd;
  }

  /** host:port of the client API. Known after the first start. */
  get endpoint(): string {
    return `127.0.0.1:${this.clientPort}`;
  }

  get clientPort(): number {
    if (this.ports === null) throw new Error('etcd was never started');
    return this.ports.client;
  }

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error('etcd is not running');
    return this.child.pid;
  }

  /** Resolves when it answers: alone, or together with enough others. */
  async start(): Promise<void> {
    await this.spawn();
    await eventually(`etcd ${this.name} answers`, () => this.answers());
  }

  /** Starts the process without waiting for its answer. */
  async spawn(): Promise<void> {
    if (this.child !== null) throw new Error('etcd is running');
    if (this.ports === null) {
      const [client, peer] = await freePorts(2);
      this.ports = { client, peer };
    }
    const clientUrl = `http://127.0.0.1:${this.ports.client}`;
    const peerUrl = `http://127.0.0.1:${this.ports.peer}`;
    this.output = '';
    const child = spawn(
      BINARY,
      [
        '--name',
        this.name,
        '--data-dir',
        this.dataDir,
        '--listen-client-urls',
        clientUrl,
        '--advertise-client-urls',
        clientUrl,
        '--listen-peer-urls',
        peerUrl,
        '--initial-advertise-peer-urls',
        peerUrl,
        '--initial-cluster',
        this.initialCluster ?? `${this.name}=${peerUrl}`,
        '--logger',
        'zap',
        '--log-level',
        'warn',
        ...(this.initialCluster === null ? ALONE : []),
        ...this.flags,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += chunk));
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => {
      process.removeListener('exit', killWithUs);
      if (this.child === child) this.child = null;
    });
  }

  /**
   * A call over etcd's own HTTP gateway, such as `kv/compaction`: what operators do, and no client of ours can. Byte
   * fields are base64. Throws unless etcd answers with success.
   */
  async command(path: string, request: object): Promise<any> {
    const answer = await fetch(`http://${this.endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(request) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** How many calls of a method, or streams, it has been asked for since it started. */
  async callsBegun(method: string): Promise<number> {
    const metrics = await (await fetch(`http://${this.endpoint}/metrics`)).text();
    const found = new RegExp(`^grpc_server_started_total\\{grpc_method="${method}",.*\\} (\\d+)$`, 'm').exec(metrics);
    if (found === null) throw new Error(`etcd counts no ${method}`);
    return Number(found[1]);
  }

  /** Keeps a backup of all that it holds, in place of the one before. It is away for that. */
  async backUp(): Promise<void> {
    await this.stop();
    rmSync(this.backup, { recursive: true, force: true });
    cpSync(this.dataDir, this.backup, { recursive: true });
    await this.start();
  }

  /** Puts the backup back in the place of what it holds, and starts it. */
  async putBack(): Promise<void> {
    await this.kill();
    rmSync(this.dataDir, { recursive: true });
    cpSync(this.backup, this.dataDir, { recursive: true });
    await this.start();
  }

  pause(): void {
    stopProcess(this.pid);
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /**
   * From now on each of its writes to files fails, in this life of it: it ends by the first. Linux only. Throws where
   * that can't be.
   */
  failWrites(): void {
    const { status, stderr, error } = spawnSync('prlimit', ['--pid', String(this.pid), '--fsize=1'], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`prlimit: ${error?.message ?? stderr}`);
  }

  async destroy(): Promise<void> {
    await this.end('SIGKILL');
    for (const folder of [this.dataDir, this.backup]) rmSync(folder, { recursive: true, force: true });
  }

  private get backup(): string {
    return `${this.dataDir}-backup`;
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (child === null) return;
    const ended = new Promise((gone) => child.once('exit', gone));
    child.kill(signal);
    await ended;
  }

  private async answers(): Promise<boolean> {
    if (this.child === null) throw new Error(`etcd ${this.name} ended at its start:\n${this.output}`);
    try {
      const answer = await fetch(`http://${this.endpoint}/health`, { signal: AbortSignal.timeout(1000) });
      return answer.ok && ((await answer.json()) as { health: string }).health === 'true';
    } catch {
      return false;
    }
  }
}

/** Several etcd processes that are one cluster. */
export class EtcdCluster {
  private constructor(readonly members: readonly EtcdProcess[]) {}

  /** Starts all members; resolves when each of them answers. */
  static async start(options: { size?: number; flags?: string[] } = {}): Promise<EtcdCluster> {
    const size = options.size ?? 3;
    const free = await freePorts(2 * size);
    const ports = Array.from({ length: size }, (_, i) => ({ client: free[2 * i], peer: free[2 * i + 1] }));
    const initialCluster = ports.map(({ peer }, i) => `etcd-${i}=http://127.0.0.1:${peer}`).join(',');
    const cluster = new EtcdCluster(
      ports.map((own, i) => new EtcdProcess({ name: `etcd-${i}`, ports: own, initialCluster, flags: options.flags })),
    );
    await Promise.all(cluster.members.map((member) => member.start()));
    return cluster;
  }

  get endpoints(): string[] {
    return this.members.map((member) => member.endpoint);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.members.map((member) => member.destroy()));
  }
}
