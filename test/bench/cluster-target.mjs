import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalCluster } from '../../scripts/local-cluster.mjs';
import { API_KEY, QuiverTarget } from './quiver-target.mjs';

/** The first port of the first cluster's processes; the others follow (scripts/local-cluster.mjs). */
const PORT = 18_000;
const PORTS_OF_A_CLUSTER = 1_000;
let opened = 0;

/**
 * A Quiver cluster to be measured: one coordinator, `nodes` nodes and an etcd as processes of this machine, in a
 * temporary folder.
 */
export async function openCluster({ nodes, shards, replicas, environment = {} }) {
  const port = PORT + PORTS_OF_A_CLUSTER * opened;
  opened += 1;
  const server = new ClusterServer({ nodes, shards, replicas, port }, environment);
  const name = `cluster, ${shards} ${shards === 1 ? 'shard' : 'shards'}`;
  return new QuiverTarget({ name, address: { host: '127.0.0.1', port }, apiKey: API_KEY, server });
}

class ClusterServer {
  #folder = mkdtempSync(join(tmpdir(), 'quiver-bench-cluster-'));
  #options;
  #environment;
  #cluster = null;

  constructor(options, environment) {
    this.#options = options;
    this.#environment = environment;
  }

  async start() {
    Object.assign(process.env, { API_KEY, EMBEDDING_MODEL: 'builtin', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' });
    Object.assign(process.env, this.#environment);
    const log = (line) => process.stderr.write(`${line}\n`);
    this.#cluster = new LocalCluster({ ...this.#options, coordinators: 1, folder: this.#folder, restarts: false, log });
    await this.#cluster.start();
  }

  get pids() {
    const { processes } = JSON.parse(readFileSync(join(this.#folder, 'cluster.json'), 'utf8'));
    return processes.map(({ pid }) => pid);
  }

  async destroy() {
    await this.#cluster?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
