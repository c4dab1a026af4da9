import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readSentences } from './sentences.mjs';
import { seededRandom, shuffle } from './seeded-random.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const fromRoot = createRequire(join(ROOT, 'package.json'));

export const PROVIDER_USAGE = `npm run bench -- provider [options]

Texts per second by an embedding provider: asked as the service does it, and by bare calls of the same size, in turns; and from the
cache on the disk. The server is a process of its own on this machine.

  --model FOLDER     a model with its ONNX graph; default: made vectors, which take no time
  --texts N          sentences of a turn (2048)   --rounds N       6
  --batch N          texts of a call (64)         --concurrency N  4
  --threads N        of the model (processors)    --text FOLDER    may be repeated (/usr/share/common-licenses)
`;
const DIM_MAX = 16_384;

export async function providerBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      model: { type: 'string' },
      texts: { type: 'string', default: '2048' },
      rounds: { type: 'string', default: '6' },
      batch: { type: 'string', default: '64' },
      concurrency: { type: 'string', default: '4' },
      threads: { type: 'string', default: String(availableParallelism()) },
      text: { type: 'string', multiple: true, default: ['/usr/share/common-licenses'] },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(PROVIDER_USAGE);
  const [count, rounds, batch, concurrency] = [values.texts, values.rounds, values.batch, values.concurrency].map(
    Number,
  );
  const texts = shuffle(readSentences(values.text), seededRandom(1)).slice(0, count);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-bench-provider-'));
  const server = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('./provider-server.mjs', import.meta.url)),
      values.model === undefined ? 'made' : resolve(values.model),
      values.threads,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const [port] = await once(server.stdout, 'data');
    const url = `http://127.0.0.1:${Number(port)}/v1`;
    const plain = await openProvider({ url, batch, concurrency, cacheDir: folder, cacheBytes: 0 });
    const kept = await openProvider({ url, batch, concurrency, cacheDir: folder, cacheBytes: 1_073_741_824 });
    const ways = {
      bare: () => bareCalls(`${url}/embeddings`, texts, batch, concurrency),
      service: () => plain.embed(texts),
    };
    const shares = [];
    const rates = { bare: [], service: [] };
    for (let round = 0; round <= rounds; round++) {
      const took = {};
      for (const name of round % 2 === 0 ? ['service', 'bare'] : ['bare', 'service'])
        took[name] = await timed(ways[name]);
      // The first round warms both up.
      if (round === 0) continue;
      for (const name of ['bare', 'service']) rates[name].push(texts.length / took[name]);
      shares.push(took.bare / took.service);
    }
    const first = texts.length / (await timed(() => kept.embed(texts)));
    await kept.written();
    const hits = texts.length / (await timed(() => kept.embed(texts)));
    const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
    process.stdout.write(
      [
        `${values.model ?? 'made vectors'}, ${texts.length} sentences, ${batch} of a call, ${concurrency} calls at once`,
        `  bare calls               ${median(rates.bare).toFixed(0)} texts/s`,
        `  as the service asks      ${median(rates.service).toFixed(0)} texts/s, ${(100 * median(shares)).toFixed(0)} % of it`,
        `  and keeps them           ${first.toFixed(0)} texts/s`,
        `  from the cache           ${hits.toFixed(0)} texts/s`,
        '',
      ].join('\n'),
    );
    await plain.close();
    await kept.close();
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(run) {
  const began = performance.now();
  await run();
  return (performance.now() - began) / 1000;
}

async function openProvider({ url, batch, concurrency, cacheDir, cacheBytes }) {
  const { RemoteProviders } = fromRoot('./dist/coordinator/models/remote/remote-providers.js');
  const { embeddingProvidersIn } = fromRoot('./dist/shared/base/config/embedding-providers.js');
  const { systemClock } = fromRoot('./dist/shared/base/time/clock.js');
  const log = (_fields, message) => process.stderr.write(`${message}\n`);
  const setting = { bench: { url, models: ['m'], batch, concurrency, cache_bytes: cacheBytes, timeout_seconds: 600 } };
  const providers = new RemoteProviders({
    providers: embeddingProvidersIn(JSON.stringify(setting)),
    keyOf: () => '',
    store: { get: async () => null, transact: async () => ({ applied: true, revision: 1 }) },
    cacheDir,
    timeoutMs: 600_000,
    dimMax: DIM_MAX,
    clock: systemClock,
    log: { warn: log, error: log },
    observer: { call: () => undefined, cached: () => undefined, failure: () => undefined },
  });
  const model = await providers.model('bench', 'm');
  return {
    embed: (texts) => model.embed(texts, { dim: model.dim, kind: 'passage' }),
    written: () => model.written(),
    close: () => providers.close(),
  };
}

/** The least that a client can do: calls of the same size, as many at once, and the numbers of each vector. */
async function bareCalls(url, texts, batch, concurrency) {
  const vectors = new Array(texts.length);
  let next = 0;
  const worker = async () => {
    while (next < texts.length) {
      const from = next;
      next += batch;
      const input = texts.slice(from, from + batch);
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input, encoding_format: 'base64' }),
      });
      const { data } = /** @type {{ data: { index: number, embedding: string }[] }} */ (await response.json());
      for (const { index, embedding } of data) {
        const bytes = Buffer.from(embedding, 'base64');
        vectors[from + index] = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return vectors;
}
