import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { eventually } from '../eventually';
import { freePorts } from './free-ports';

/** How a server of another product is started: a program with its first words. */
export type PeerCommand = string[];

const READY_DEADLINE_MS = 60_000;

/**
 * Chroma's server: CHROMA_COMMAND, `chroma` on the path (PyPI), or the package that the benchmark has installed (npm).
 */
export function findChroma(): PeerCommand | null {
  const onPath = process.env.CHROMA_COMMAND ?? find(['chroma'], paths());
  if (onPath !== null) return [onPath];
  const script = find([resolve(__dirname, '../../bench/node_modules/chromadb/dist/cli.mjs')], ['']);
  return script === null ? null : [process.execPath, script];
}

/** Weaviate's server: WEAVIATE_COMMAND, or `weaviate-server` on the path or where `go install` puts it. */
export function findWeaviate(): PeerCommand | null {
  const command =
    process.env.WEAVIATE_COMMAND ??
    find(
      ['weaviate-server'],
      [...paths(), process.env.GOBIN ?? '', join(process.env.GOPATH ?? join(homedir(), 'go'), 'bin')],
    );
  return command === null ? null : [command];
}

/** A server of another product on a free port and a data folder of its own. */
export class PeerServer {
  address = '';
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-peer-'));
  private child: ChildProcess | null = null;
  private output = '';

  async startChroma(command: PeerCommand): Promise<void> {
    const [port] = await freePorts(1);
    await this.start(
      [...command, 'run', '--path', this.folder, '--host', '127.0.0.1', '--port', String(port)],
      {},
      port,
      '/api/v2/heartbeat',
    );
  }

  async startWeaviate(command: PeerCommand): Promise<void> {
    const [port, gossip, data, raft, raftRpc, grpc] = await freePorts(6);
    const environment = {
      PERSISTENCE_DATA_PATH: this.folder,
      AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED: 'true',
      DEFAULT_VECTORIZER_MODULE: 'none',
      CLUSTER_HOSTNAME: 'node1',
      CLUSTER_ADVERTISE_ADDR: '127.0.0.1',
      CLUSTER_GOSSIP_BIND_PORT: String(gossip),
      CLUSTER_DATA_BIND_PORT: String(data),
      RAFT_BOOTSTRAP_EXPECT: '1',
      RAFT_PORT: String(raft),
      RAFT_INTERNAL_RPC_PORT: String(raftRpc),
      GRPC_PORT: String(grpc),
      DISABLE_TELEMETRY: 'true',
      GO_PROFILING_DISABLE: 'true',
      LOG_LEVEL: 'error',
    };
    await this.start(
      [...command, '--scheme', 'http', '--host', '127.0.0.1', '--port', String(port)],
      environment,
      port,
      '/v1/.well-known/ready',
    );
  }

  /** One call; answers its JSON, null where there is none. */
  async call<Answer = any>(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await fetch(this.address + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(READY_DEADLINE_MS),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(
    [program, ...words]: string[],
    environment: Record<string, string>,
    port: number,
    readyPath: string,
  ): Promise<void> {
    const child = spawn(program, words, {
      cwd: this.folder,
      env: { PATH: process.env.PATH, HOME: this.folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => process.removeListener('exit', killWithUs));
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.address = `http://127.0.0.1:${port}`;
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`${program} ended at its start: ${this.output}`);
      return fetch(this.address + readyPath, { signal: AbortSignal.timeout(1000) }).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await eventually(`${program} is ready`, isReady);
  }
}

function paths(): string[] {
  return (process.env.PATH ?? '').split(delimiter);
}

function find(names: string[], folders: string[]): string | null {
  for (const folder of folders) {
    for (const name of names) {
      const path = folder === '' ? name : join(folder, name);
      try {
        accessSync(path, constants.R_OK);
        if (path.includes('/')) return path;
      } catch {
        // Not there.
      }
    }
  }
  return null;
}
