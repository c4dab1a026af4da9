import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ServerProcess, freePort } from './server-process.mjs';

const DATABASE = '/api/v2/tenants/default_tenant/databases/default_database';

/**
 * Chroma's server as the npm package chromadb brings it, on a free port and a temporary data folder. `effort`: see
 * createCollection.
 */
export async function openChroma({ effort }) {
  const address = { host: '127.0.0.1', port: await freePort() };
  const dataFolder = mkdtempSync(join(tmpdir(), 'chroma-bench-data-'));
  const server = new ServerProcess({
    name: 'chroma',
    script: join(dirname(createRequire(import.meta.url).resolve('chromadb')), '..', 'cli.mjs'),
    words: ['run', '--path', dataFolder, '--host', address.host, '--port', String(address.port)],
    environment: process.env,
    dataFolder,
    isReady: async () => (await fetch(`http://${address.host}:${address.port}/api/v2/heartbeat`)).ok,
  });
  return new ChromaTarget({ address, server, effort });
}

class ChromaTarget {
  name = 'chroma';
  format = 'chroma';
  headers = {};

  constructor({ address, server, effort }) {
    this.address = address;
    this.server = server;
    this.effort = effort;
  }

  /** With Chroma's own defaults unless an effort is given: its ef_search, and at least as large an ef_construction. */
  async createCollection({ metric }) {
    const hnsw = {
      space: metric,
      ...(this.effort === undefined ? {} : { ef_search: this.effort, ef_construction: Math.max(100, this.effort) }),
    };
    const answer = await fetch(`http://${this.address.host}:${this.address.port}${DATABASE}/collections`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench', configuration: { hnsw } }),
    });
    const collection = /** @type {{ id: string }} */ (await answer.json());
    if (!answer.ok) throw new Error(`chroma: ${JSON.stringify(collection)}`);
    this.bulkPath = `${DATABASE}/collections/${collection.id}/upsert`;
    this.searchPath = `${DATABASE}/collections/${collection.id}/query`;
  }

  checkBulkAnswer(answer) {
    if (answer.error !== undefined) throw new Error(`chroma: ${JSON.stringify(answer)}`);
  }

  async indexState() {
    return {};
  }
}
