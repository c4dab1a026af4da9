import { existsSync, mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServerProcess, freePort } from './server-process.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COLLECTION = 'bench';
export const API_KEY = 'bench-key';

/**
 * A Quiver to be measured: a process of its own on free ports and a temporary data folder, or, given its `url`, one
 * that runs already (its rate limit must be off). `server` is null for the latter. `root`: the checkout that it runs
 * from.
 * @param {{ url?: string, apiKey?: string, environment?: Record<string, string>, name?: string, root?: string }}
 * [options]
 */
export async function openQuiver({ url, apiKey = API_KEY, environment = {}, name = 'quiver', root = ROOT } = {}) {
  if (url !== undefined) {
    const { hostname, port } = new URL(url);
    return new QuiverTarget({ address: { host: hostname, port: Number(port || 80) }, apiKey, server: null });
  }
  const address = { host: '127.0.0.1', port: await freePort() };
  const opsPort = await freePort();
  const dataFolder = mkdtempSync(join(tmpdir(), 'quiver-bench-data-'));
  // Earlier checkouts have no programs.
  const scripts = [join(root, 'dist', 'programs', 'embedded.js'), join(root, 'dist', 'embedded', 'main.js')];
  const server = new ServerProcess({
    name,
    script: scripts.find((script) => existsSync(script)) ?? scripts[0],
    environment: {
      PATH: process.env.PATH,
      PORT: String(address.port),
      HOST: address.host,
      OPS_PORT: String(opsPort),
      DATA_DIR: dataFolder,
      API_KEY: apiKey,
      EMBEDDING_MODEL: 'builtin',
      RATE_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'warn',
      UV_THREADPOOL_SIZE: String(availableParallelism() + 4),
      ...environment,
    },
    dataFolder,
    isReady: async () => (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status === 200,
  });
  return new QuiverTarget({ name, address, apiKey, server });
}

export class QuiverTarget {
  format = 'quiver';
  collectionPath = `/v1/collections/${COLLECTION}`;
  bulkPath = `/v1/collections/${COLLECTION}/bulk_upsert`;
  searchPath = `/v1/collections/${COLLECTION}/search`;

  constructor({ name = 'quiver', address, apiKey, server }) {
    this.name = name;
    this.address = address;
    this.headers = { 'x-api-key': apiKey };
    this.server = server;
  }

  /** Answers the collection as made. */
  async createCollection({ dim, metric, language }) {
    if (this.server === null) await this.call('DELETE', `/v1/collections/${COLLECTION}`);
    const answer = await this.call('POST', '/v1/collections', {
      name: COLLECTION,
      dim,
      distance_metric: metric,
      language,
    });
    if (answer.status !== 'success') throw new Error(`create: ${JSON.stringify(answer.error)}`);
    return answer.data;
  }

  /** @returns {Promise<any>} */
  async call(method, path, body) {
    const answer = await fetch(`http://${this.address.host}:${this.address.port}${path}`, {
      method,
      headers: { ...this.headers, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return answer.json();
  }

  checkBulkAnswer(answer, items) {
    if (answer.status !== 'success' || answer.data.results.length !== items)
      throw new Error(`bulk_upsert: ${JSON.stringify(answer.error)}`);
  }

  /** Whether the index says that it is not ready: it is built, refined or measured. Earlier versions say nothing. */
  async isAtWork() {
    const { data } = await this.call('GET', `${this.collectionPath}/stats`);
    return data?.index !== undefined && data.index.state !== 'ready';
  }

  /** Rows that no graph holds yet, segments, and the calibrated effort (ef). */
  async indexState() {
    const text = await (await fetch(`http://${this.address.host}:${this.address.port}/metrics`)).text();
    const gauge = (name) =>
      [...text.matchAll(new RegExp(`^${name}\\{[^}]*collection="${COLLECTION}"[^}]*\\} (\\S+)$`, 'gm'))].map((match) =>
        Number(match[1]),
      );
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    return {
      growingRows: sum(gauge('quiver_shard_growing_rows')),
      segments: sum(gauge('quiver_shard_segments')),
      effort: Math.max(0, ...gauge('quiver_shard_search_effort')),
    };
  }
}
