import { parseArgs } from 'node:util';
import { BULK_ITEMS } from './bulk-bodies.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { residentMemory } from './process-facts.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';

export const SIZING_USAGE = `npm run bench -- sizing [options]

What collections take in memory and on the disk, by dimension and number of vectors: each in a process of its own, of generated
clusters with a short id and one value of metadata, when the index is ready, and behind a restart.

  --dims N,N,…    128,384,768,1536
  --rows N,N,…    50000
  --quantization  int8; or int4, binary
  --metadata      memory; or disk
  --metadata-bytes N  of each item beside its value (0)
  --json FILE     everything measured, as JSON
`;

/** Random directions alone have no neighbours to speak of, and the effort is calibrated on what is stored. */
const CLUSTERS = 200;
/** Rows that are made between two looks at what came in: some milliseconds. */
const MADE_ITEMS = 100;
const SETTLED_DEADLINE_MS = 420_000;

export async function sizingBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      dims: { type: 'string', default: '128,384,768,1536' },
      rows: { type: 'string', default: '50000' },
      quantization: { type: 'string', default: 'int8' },
      metadata: { type: 'string', default: 'memory' },
      'metadata-bytes': { type: 'string', default: '0' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(SIZING_USAGE);
    return;
  }
  const numbers = (text) => text.split(',').map(Number);
  const figures = [];
  process.stdout.write(`${HEAD}\n`);
  for (const dim of numbers(values.dims)) {
    for (const rows of numbers(values.rows)) {
      figures.push(
        await measureSize({
          dim,
          rows,
          quantization: values.quantization,
          metadata: values.metadata,
          metadataBytes: Number(values['metadata-bytes']),
        }),
      );
      process.stdout.write(`${sizeLine(figures.at(-1))}\n`);
    }
  }
  process.stdout.write(
    `\nMemory of the collection: as its stats say. Of the process: what it has of its own, without mapped files, less the ${mebibytes(figures[0].emptyBytes)} MiB of an empty one.\n`,
  );
  if (values.json !== undefined) writeFigures(values.json, { figures });
}

async function measureSize({ dim, rows, quantization, metadata, metadataBytes }) {
  const target = await openQuiver();
  try {
    await target.server.start();
    const empty = residentMemory(target.server.pid);
    const made = await target.call('POST', '/v1/collections', {
      name: 'bench',
      dim,
      distance_metric: 'cosine',
      quantization,
      metadata,
    });
    if (made.status !== 'success') throw new Error(JSON.stringify(made.error));
    await loadClusters(target, { dim, rows, metadataBytes });
    await settled(target, rows);
    await target.server.stop('SIGTERM');
    await target.server.start();
    // A small one stays closed until it is used, and takes nothing then.
    const used = await target.call('POST', target.searchPath, { vector: Array(dim).fill(1), k: 1 });
    if (used.status !== 'success') throw new Error(JSON.stringify(used.error));
    const stats = await settled(target, rows);
    const after = residentMemory(target.server.pid);
    return {
      dim,
      rows,
      quantization,
      metadata,
      metadataBytes,
      statsBytes: stats.memory_bytes,
      emptyBytes: empty.ownBytes,
      residentBytes: after.ownBytes,
      mappedBytes: after.fileBytes,
      diskBytes: stats.disk_bytes,
      rawBytes: rows * dim * 4,
    };
  } finally {
    await target.server.destroy();
  }
}

/** Vectors like those that are loaded, which are none of them. */
export function clusterVectors(dim, count, seed, clusters = CLUSTERS) {
  const centres = centresOf(seededRandom(dim), dim, clusters);
  const random = seededRandom(1_000_003 * seed + dim);
  return Array.from({ length: count }, () => vectorIn(centres, random, dim));
}

const centresOf = (random, dim, clusters) => Float32Array.from({ length: clusters * dim }, () => random() - 0.5);

function vectorIn(centres, random, dim) {
  const centre = Math.floor(random() * (centres.length / dim)) * dim;
  const vector = new Float32Array(dim);
  for (let i = 0; i < dim; i++) vector[i] = centres[centre + i] + 0.4 * (random() - 0.5);
  return vector;
}

/**
 * Loads vectors in so many clusters. `look` sees each row and its vector.
 * @param {any} target
 * @param {{ dim: number, rows: number, metadataBytes: number, clusters?: number, look?: (row: number, vector:
 * Float32Array) => void }} options
 */
export async function loadClusters(target, { dim, rows, metadataBytes, clusters = CLUSTERS, look = () => {} }) {
  const random = seededRandom(dim);
  const centres = centresOf(random, dim, clusters);
  const note = metadataBytes === 0 ? '' : `,"note":{"text":"${'x'.repeat(metadataBytes)}"}`;
  const connection = await HttpConnection.open(target.address);
  const bar = new ProgressBar({ label: `${rows} × ${dim}`, total: rows, unit: 'rows' });
  // In slices, between which the request before it goes out: the next batch is made while the service has that one.
  const made = async (from) => {
    const items = [];
    for (let row = from; row < Math.min(rows, from + BULK_ITEMS); row++) {
      if (row % MADE_ITEMS === 0) await new Promise((next) => setImmediate(next));
      const vector = vectorIn(centres, random, dim);
      look(row, vector);
      items.push(
        `{"external_id":"item-${row}","vector":"${Buffer.from(vector.buffer).toString('base64')}","metadata":{"kind":"k${row % 10}"${note}}}`,
      );
    }
    return { body: Buffer.from(`{"items":[${items.join(',')}]}`), count: items.length };
  };
  let batch = await made(0);
  for (let from = 0; from < rows; from += BULK_ITEMS) {
    const { body, count } = batch;
    const head = requestHead({
      method: 'POST',
      path: target.bulkPath,
      headers: target.headers,
      ...target.address,
      bodyBytes: body.length,
    });
    const [answer, next] = await Promise.all([connection.send(head, body), made(from + BULK_ITEMS)]);
    target.checkBulkAnswer(JSON.parse(answer), count);
    batch = next;
    bar.report(Math.min(rows, from + BULK_ITEMS));
  }
  connection.close();
  bar.finish();
}

/** The collection's statistics when its index is ready and nothing is done any more. */
export async function settled(target, rows, deadlineMs = SETTLED_DEADLINE_MS) {
  const deadline = performance.now() + deadlineMs;
  for (let readySince = null; ; await new Promise((wake) => setTimeout(wake, 250))) {
    if (performance.now() > deadline) throw new Error('the index was not ready in time');
    const { data } = await target.call('GET', `${target.collectionPath}/stats`);
    const isReady = data?.index.state === 'ready' && data.vector_count === rows;
    readySince = isReady ? (readySince ?? performance.now()) : null;
    // Files of the state before are removed a moment later.
    if (readySince !== null && performance.now() - readySince > 2000) return data;
  }
}

const HEAD =
  '| dimensions | vectors | raw, MiB | of the collection, MiB | for a vector, bytes | of the process, MiB | for a vector, bytes | disk, MiB | disk ÷ raw |\n|---|---|---|---|---|---|---|---|---|';

const mebibytes = (bytes) => Math.round(bytes / 1024 / 1024).toLocaleString('en');

function sizeLine({ dim, rows, statsBytes, emptyBytes, residentBytes, diskBytes, rawBytes }) {
  const own = residentBytes - emptyBytes;
  const cells = [
    dim,
    rows.toLocaleString('en'),
    mebibytes(rawBytes),
    mebibytes(statsBytes),
    Math.round(statsBytes / rows),
    mebibytes(own),
    Math.round(own / rows),
    mebibytes(diskBytes),
    (diskBytes / rawBytes).toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
}
