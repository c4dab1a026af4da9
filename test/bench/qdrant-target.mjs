import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, ServerProcess } from './server-process.mjs';
import { FILTER_MODULI } from './wire-formats.mjs';

const COLLECTION = '/collections/bench';
const DISTANCES = { cosine: 'Cosine', ip: 'Dot', l2: 'Euclid' };
/** What ef is chosen from: the first that finds enough. */
export const QDRANT_EFFORTS = [16, 32, 64, 128, 256, 512, 1024];
const CALL_MS = 60_000;

/**
 * Qdrant, by the program that QDRANT_PROGRAM names (none is in a package registry), on free ports and a temporary data
 * folder. Everything is indexed, as with Quiver; the fields of filters have indexes. `isQuantized`: int8 vectors in
 * memory, hits scored again by the originals, twice as many looked at.
 * @param {{ isQuantized: boolean }} options
 */
export async function openQdrant({ isQuantized }) {
  const program = process.env.QDRANT_PROGRAM;
  if (program === undefined) throw new Error('QDRANT_PROGRAM must name the program of Qdrant');
  const name = isQuantized ? 'qdrant-int8' : 'qdrant';
  const address = { host: '127.0.0.1', port: await freePort() };
  const dataFolder = mkdtempSync(join(tmpdir(), 'qdrant-bench-data-'));
  const server = new ServerProcess({
    name,
    program,
    workFolder: dataFolder,
    environment: {
      PATH: process.env.PATH,
      QDRANT__SERVICE__HOST: address.host,
      QDRANT__SERVICE__HTTP_PORT: String(address.port),
      QDRANT__SERVICE__GRPC_PORT: String(await freePort()),
      QDRANT__STORAGE__STORAGE_PATH: join(dataFolder, 'storage'),
      QDRANT__STORAGE__SNAPSHOTS_PATH: join(dataFolder, 'snapshots'),
      QDRANT__TELEMETRY_DISABLED: 'true',
      QDRANT__LOG_LEVEL: 'WARN',
    },
    dataFolder,
    isReady: async () => (await fetch(`http://${address.host}:${address.port}/readyz`)).ok,
  });
  return new QdrantTarget({ name, address, server, isQuantized });
}

class QdrantTarget {
  headers = {};
  efforts = QDRANT_EFFORTS;
  effort = QDRANT_EFFORTS[0];
  bulkMethod = 'PUT';
  bulkPath = `${COLLECTION}/points?wait=true`;
  searchPath = `${COLLECTION}/points/search`;

  constructor({ name, address, server, isQuantized }) {
    this.name = name;
    this.format = name;
    this.address = address;
    this.server = server;
    this.isQuantized = isQuantized;
  }

  async createCollection({ dim, metric }) {
    await this.call('PUT', COLLECTION, {
      vectors: { size: dim, distance: DISTANCES[metric] },
      hnsw_config: { m: 16, ef_construct: 100 },
      optimizers_config: { indexing_threshold: 10 },
      ...(this.isQuantized ? { quantization_config: { scalar: { type: 'int8', always_ram: true } } } : {}),
    });
    for (const modulus of FILTER_MODULI)
      await this.call('PUT', `${COLLECTION}/index?wait=true`, { field_name: `mod${modulus}`, field_schema: 'integer' });
  }

  checkBulkAnswer(answer) {
    if (answer.status !== 'ok') throw new Error(`qdrant: ${JSON.stringify(answer)}`);
  }

  /** Rows without an index yet, and the ef that was chosen. */
  async indexState() {
    const { result } = await this.call('GET', COLLECTION);
    const growing = result.points_count - Math.min(result.points_count, result.indexed_vectors_count);
    // Yellow: its optimizer still works, be it on segments that are counted already.
    return {
      growingRows: result.status === 'yellow' ? Math.max(1, growing) : growing,
      segments: result.segments_count,
      effort: this.effort,
    };
  }

  async call(method, path, body) {
    const answer = await fetch(`http://${this.address.host}:${this.address.port}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const answered = /** @type {any} */ (await answer.json());
    if (!answer.ok) throw new Error(`qdrant: ${JSON.stringify(answered)}`);
    return answered;
  }
}
