import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { exactNeighbours } from './exact-neighbours.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { seededRandom, shuffle } from './seeded-random.mjs';
import { readSentences } from './sentences.mjs';
import { readFloat32, writeInt32 } from './vector-files.mjs';

export const TEXT_MODEL = 'Xenova/all-MiniLM-L6-v2';
export const TEXT_DIM = 384;
/** Texts that every machine of this kind has; other folders make a larger data set. */
export const TEXT_FOLDERS = [
  '/usr/share/common-licenses',
  '/usr/share/doc',
  '/usr/share/man',
  '/usr/share/perl',
  '/usr/share/dictd',
];
const BLOCK_SENTENCES = 512;
const NEIGHBOURS = 10;

/**
 * Embeds the distinct sentences under some folders and writes `PREFIX.f32` (rows, float32 little-endian, unit length),
 * `PREFIX.txt` (their sentences, a line each), `PREFIX.q.f32` (held-out sentences as queries) and `PREFIX.gt.i32` (the
 * exact ids of each query's nearest ten). The rows are written as they come; a run that was broken off goes on where it
 * stopped, as long as the folders are the same. Answers the number of rows.
 */
export async function embedText({
  folders = TEXT_FOLDERS,
  model = TEXT_MODEL,
  rows = 100_000,
  queries = 1000,
  prefix,
  threads = 2,
}) {
  mkdirSync(dirname(resolve(prefix)), { recursive: true });
  const sentences = shuffle(readSentences(folders), seededRandom(1));
  const held = sentences.slice(0, queries);
  const stored = sentences.slice(queries, queries + rows);
  if (stored.length < rows)
    process.stderr.write(`only ${stored.length} distinct sentences under ${folders.join(', ')}\n`);
  if (stored.length === 0) throw new Error(`no sentences under ${folders.join(', ')}`);
  writeFileSync(`${prefix}.txt`, stored.join('\n') + '\n');
  const workers = await startWorkers(model, threads);
  try {
    await embedInto(`${prefix}.q.f32`, held, workers, 'embedding queries');
    await embedInto(`${prefix}.f32`, stored, workers, 'embedding text');
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  const truth = await exactNeighbours({
    rows: readFloat32(`${prefix}.f32`),
    queries: readFloat32(`${prefix}.q.f32`),
    dim: TEXT_DIM,
    metric: 'ip',
    count: NEIGHBOURS,
    threads,
  });
  writeInt32(`${prefix}.gt.i32`, truth);
  return stored.length;
}

async function startWorkers(model, threads) {
  const script = new URL('./embed-worker.mjs', import.meta.url);
  return Promise.all(
    Array.from(
      { length: threads },
      () =>
        new Promise((done, fail) => {
          const worker = new Worker(script, { workerData: { model } });
          worker.once('error', fail);
          worker.once('message', () => done(worker));
        }),
    ),
  );
}

/** Blocks go to whichever worker is free and are written in order, so that the file is always a whole prefix. */
async function embedInto(path, sentences, workers, label) {
  const rowBytes = TEXT_DIM * 4;
  const blockBytes = BLOCK_SENTENCES * rowBytes;
  const whole = Math.ceil((sentences.length * rowBytes) / blockBytes);
  const present = existsSync(path) ? statSync(path).size : 0;
  if (present === sentences.length * rowBytes) return;
  const firstBlock = Math.min(Math.floor(present / blockBytes), whole);
  const file = openSync(path, existsSync(path) ? 'r+' : 'w');
  ftruncateSync(file, firstBlock * blockBytes);
  const bar = new ProgressBar({ label, total: sentences.length, unit: 'sentences' });
  const finished = new Map();
  let nextBlock = firstBlock;
  let written = firstBlock;
  try {
    await Promise.all(
      workers.map(async (worker) => {
        while (nextBlock < whole) {
          const block = nextBlock++;
          finished.set(
            block,
            await embedBlock(worker, block, sentences.slice(block * BLOCK_SENTENCES, (block + 1) * BLOCK_SENTENCES)),
          );
          for (; finished.has(written); written++) {
            const vectors = finished.get(written);
            finished.delete(written);
            writeSync(
              file,
              new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength),
              0,
              vectors.byteLength,
              written * blockBytes,
            );
            bar.report(Math.min(sentences.length, (written + 1) * BLOCK_SENTENCES));
          }
        }
      }),
    );
  } finally {
    closeSync(file);
    bar.finish();
  }
}

function embedBlock(worker, block, sentences) {
  return new Promise((done, fail) => {
    const settle = (action, value) => {
      worker.off('message', onMessage);
      worker.off('error', onError);
      action(value);
    };
    const onMessage = (message) => settle(done, message.vectors);
    const onError = (error) => settle(fail, error);
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.postMessage({ block, sentences });
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      model: { type: 'string', default: TEXT_MODEL },
      rows: { type: 'string', default: '100000' },
      queries: { type: 'string', default: '1000' },
      threads: { type: 'string', default: '2' },
      out: { type: 'string', default: fileURLToPath(new URL('./datasets/text', import.meta.url)) },
    },
  });
  const count = await embedText({
    folders: positionals.length > 0 ? positionals : undefined,
    model: values.model,
    rows: Number(values.rows),
    queries: Number(values.queries),
    threads: Number(values.threads),
    prefix: values.out,
  });
  process.stderr.write(`${count} rows in ${values.out}.f32\n`);
}
