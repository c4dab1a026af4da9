import { parseArgs } from 'node:util';
import { BULK_ITEMS } from './bulk-bodies.mjs';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { median } from './measure.mjs';
import { processorSeconds } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';
import { roundComponent } from './wire-formats.mjs';

export const FORMATS_USAGE = `npm run bench -- formats [options]

What vectors cost as arrays of numbers and as base64 of little-endian float32: bytes, and processor time of the service and of
this client, for bulk_upsert, search, fetch, scroll and export, the two formats in turns.

  --rows N     8000: few enough that no graph is built beside what is measured
  --dim N      384
  --rounds N   5
  --repeat N   4: times that everything is done in a round
  --json FILE  everything measured, as JSON
`;

const FORMATS = ['array', 'base64'];
const FETCH_IDS = 100;
const SCROLL_LIMIT = 1000;
const SEARCHES_MAX = 1000;

export async function formatsBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      rows: { type: 'string', default: '8000' },
      dim: { type: 'string', default: '384' },
      rounds: { type: 'string', default: '5' },
      repeat: { type: 'string', default: '4' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(FORMATS_USAGE);
    return;
  }
  const [rows, dim, rounds, repeat] = [values.rows, values.dim, values.rounds, values.repeat].map(Number);
  const report = await measureFormats({ rows, dim, rounds, repeat });
  process.stdout.write(`\n${formatReport({ rows, dim, report })}`);
  if (values.json !== undefined) writeFigures(values.json, { steps: report });
}

async function measureFormats({ rows, dim, rounds, repeat }) {
  const vectors = randomVectors(rows, dim);
  const target = await openQuiver();
  try {
    await target.server.start();
    await target.createCollection({ dim, metric: 'cosine', language: undefined });
    const connection = await HttpConnection.open(target.address);
    const call = async (path, body) => {
      const head = requestHead({
        method: body === undefined ? 'GET' : 'POST',
        path,
        headers: target.headers,
        ...target.address,
        bodyBytes: Buffer.byteLength(body ?? ''),
      });
      return body === undefined ? connection.send(head) : connection.send(head, body);
    };
    const steps = stepsOver({ target, vectors, rows, dim, call });
    // Not measured: code is compiled, and the rows are there.
    for (const format of FORMATS) for (const run of Object.values(steps)) await run(format);
    const taken = {};
    for (let round = 0; round < rounds; round++) {
      for (const [step, run] of Object.entries(steps)) {
        for (const format of round % 2 === 0 ? FORMATS : [...FORMATS].reverse()) {
          ((taken[step] ??= {})[format] ??= []).push(await measured(target, repeat, () => run(format)));
        }
      }
    }
    connection.close();
    return Object.fromEntries(
      Object.entries(taken).map(([step, formats]) => [
        step,
        Object.fromEntries(Object.entries(formats).map(([format, all]) => [format, medians(all)])),
      ]),
    );
  } finally {
    await target.server.destroy();
  }
}

/**
 * What is measured, by name: each does its work in a format, and answers how many vectors went over the wire, in how
 * many bytes.
 */
function stepsOver({ target, vectors, rows, dim, call }) {
  const path = target.collectionPath;
  const written = {
    array: (row) => JSON.stringify(Array.from(vectors.subarray(row * dim, (row + 1) * dim), roundComponent)),
    base64: (row) => `"${bytesOf(vectors, row, dim).toString('base64')}"`,
  };
  const read = {
    array: (vector) => Float32Array.from(vector),
    base64: (vector) => float32Of(Buffer.from(vector, 'base64')),
  };
  const taken = (answer, format) => {
    const { status, data, error } = JSON.parse(answer);
    if (status !== 'success') throw new Error(JSON.stringify(error));
    for (const { vector } of data.vectors)
      if (read[format](vector).length !== dim) throw new Error('a vector of another length');
    return { data, vectors: data.vectors.length, bytes: answer.length };
  };
  const all = async (requests) => {
    const sum = { vectors: 0, bytes: 0 };
    for await (const { vectors: count, bytes } of requests) {
      sum.vectors += count;
      sum.bytes += bytes;
    }
    return sum;
  };
  return {
    bulk_upsert: (format) =>
      all(
        (async function* upserts() {
          for (let from = 0; from < rows; from += BULK_ITEMS) {
            const to = Math.min(rows, from + BULK_ITEMS);
            const items = [];
            for (let row = from; row < to; row++)
              items.push(`{"external_id":"${row}","vector":${written[format](row)}}`);
            const body = `{"items":[${items.join(',')}]}`;
            target.checkBulkAnswer(JSON.parse(await call(target.bulkPath, body)), to - from);
            yield { vectors: to - from, bytes: body.length };
          }
        })(),
      ),
    search: (format) =>
      all(
        (async function* searches() {
          for (let query = 0; query < Math.min(SEARCHES_MAX, rows); query++) {
            const body = `{"vector":${written[format](query)},"k":10}`;
            if (JSON.parse(await call(target.searchPath, body)).status !== 'success')
              throw new Error('a search failed');
            yield { vectors: 1, bytes: body.length };
          }
        })(),
      ),
    fetch: (format) =>
      all(
        (async function* fetches() {
          for (let from = 0; from < rows; from += FETCH_IDS) {
            const ids = Array.from({ length: Math.min(FETCH_IDS, rows - from) }, (_, i) => String(from + i));
            yield taken(await call(`${path}/vectors/fetch`, JSON.stringify({ ids, vector_format: format })), format);
          }
        })(),
      ),
    scroll: (format) =>
      all(
        (async function* pages() {
          let cursor = null;
          do {
            const page = taken(
              await call(`${path}/scroll`, JSON.stringify({ cursor, limit: SCROLL_LIMIT, vector_format: format })),
              format,
            );
            cursor = page.data.next_cursor;
            yield page;
          } while (cursor !== null);
        })(),
      ),
    export: (format) =>
      all(
        (async function* exported() {
          yield taken(await call(`${path}/export?limit=${rows}&vector_format=${format}`), format);
        })(),
      ),
  };
}

/** Microseconds of processor time for a vector, of the service and of this process, and bytes; all on average. */
async function measured(target, repeat, run) {
  const [server, client] = [processorSeconds(target.server.pid), process.cpuUsage()];
  const sum = { vectors: 0, bytes: 0 };
  for (let i = 0; i < repeat; i++) {
    const { vectors, bytes } = await run();
    sum.vectors += vectors;
    sum.bytes += bytes;
  }
  const { user, system } = process.cpuUsage(client);
  return {
    bytes: sum.bytes / sum.vectors,
    serverMicros: ((processorSeconds(target.server.pid) - server) * 1e6) / sum.vectors,
    clientMicros: (user + system) / sum.vectors,
  };
}

const medians = (all) =>
  Object.fromEntries(
    ['bytes', 'serverMicros', 'clientMicros'].map((name) => [name, median(all.map((one) => one[name]))]),
  );

function randomVectors(rows, dim) {
  const random = seededRandom(1);
  return Float32Array.from({ length: rows * dim }, () => roundComponent(2 * random() - 1));
}

function bytesOf(vectors, row, dim) {
  return Buffer.from(vectors.buffer, row * dim * Float32Array.BYTES_PER_ELEMENT, dim * Float32Array.BYTES_PER_ELEMENT);
}

function float32Of(bytes) {
  const vector = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

function formatReport({ rows, dim, report }) {
  const lines = [
    `${rows.toLocaleString('en')} × ${dim}, for a vector: bytes, and processor time of the service and of the client`,
    '',
  ];
  for (const [step, { array, base64 }] of Object.entries(report)) {
    const pair = (name, unit) =>
      `${array[name].toFixed(unit === 'B' ? 0 : 1).padStart(7)} → ${base64[name].toFixed(unit === 'B' ? 0 : 1)} ${unit} (${(base64[name] / array[name]).toFixed(2)})`.padEnd(
        30,
      );
    lines.push(
      `${step.padEnd(12)} ${pair('bytes', 'B')} service ${pair('serverMicros', 'µs')} client ${pair('clientMicros', 'µs')}`,
    );
  }
  return `${lines.join('\n')}\n`;
}
