import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readSentences } from './sentences.mjs';
import { seededRandom, shuffle } from './seeded-random.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const fromRoot = createRequire(join(ROOT, 'package.json'));

export const EMBED_USAGE = `npm run bench -- embed [options]

  --model NAME       a model of the hub or a folder (Xenova/all-MiniLM-L6-v2)
  --dtype NAME       EMBEDDING_DTYPE (auto)
  --text FOLDER      where sentences are read from, may be repeated (/usr/share/common-licenses)
  --texts N          sentences (1024)         --batch N     of the bare pipeline (32)
  --threads N        of either (processors)   --rounds N    4
  --cache FOLDER     EMBEDDING_CACHE_DIR
`;
/** Texts of one turn; the two take turns, so that both are measured in the same minutes of the same machine. */
const TURN_TEXTS = 256;

/**
 * Texts per second of the service's embedder and of the library's own feature-extraction pipeline in batches, on the
 * same texts in turns, and how near their vectors are to those of the pipeline for each text alone.
 */
export async function benchEmbed(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      model: { type: 'string', default: 'Xenova/all-MiniLM-L6-v2' },
      dtype: { type: 'string', default: 'auto' },
      text: { type: 'string', multiple: true, default: ['/usr/share/common-licenses'] },
      texts: { type: 'string', default: '1024' },
      batch: { type: 'string', default: '32' },
      threads: { type: 'string', default: String(availableParallelism()) },
      rounds: { type: 'string', default: '4' },
      cache: { type: 'string', default: join(tmpdir(), 'quiver-bench-models') },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(EMBED_USAGE);
  const [count, batch, threads, rounds] = [values.texts, values.batch, values.threads, values.rounds].map(Number);
  const texts = shuffle(readSentences(values.text), seededRandom(1)).slice(0, count);
  if (texts.length === 0) throw new Error(`no sentences under ${values.text.join(', ')}`);
  const service = await openService({ ...values, threads });
  try {
    const bare = await openPipeline({ folder: service.folder, variant: service.variant, threads, batch });
    const sums = { service: 0, bare: 0 };
    for (let round = 0; round <= rounds; round++) {
      for (let start = 0; start < texts.length; start += TURN_TEXTS) {
        const turn = texts.slice(start, start + TURN_TEXTS);
        for (const name of round % 2 === 0 ? ['service', 'bare'] : ['bare', 'service']) {
          const began = performance.now();
          await { service, bare }[name].embed(turn);
          // The first round warms both up.
          if (round > 0) sums[name] += performance.now() - began;
        }
      }
    }
    const speed = (name) => (texts.length * rounds) / (sums[name] / 1000);
    const sample = texts.slice(0, 4 * batch);
    const [alone, inBatches, served] = [
      await bare.embedAlone(sample),
      await bare.embed(sample),
      await service.embed(sample),
    ];
    const characters = Math.round(texts.reduce((sum, text) => sum + text.length, 0) / texts.length);
    process.stdout.write(
      [
        `${values.model}, ${service.variant}, ${texts.length} sentences of ${characters} characters on average, ${threads} threads`,
        `  the service's embedder              ${speed('service').toFixed(0)} texts/s   least cosine to the text alone ${leastCosine(served, alone).toFixed(5)}`,
        `  the bare pipeline, batches of ${String(batch).padEnd(4)}  ${speed('bare').toFixed(0)} texts/s   least cosine to the text alone ${leastCosine(inBatches, alone).toFixed(5)}`,
        `  ${((100 * speed('service')) / speed('bare')).toFixed(0)} %`,
        '',
      ].join('\n'),
    );
  } finally {
    await service.close();
  }
}

async function openService({ model, dtype, threads, cache }) {
  const { transformersLoader } = fromRoot('./dist/coordinator/models/transformers/transformers-loader.js');
  const { systemClock } = fromRoot('./dist/shared/base/time/clock.js');
  let facts;
  const info = (fields, message) => {
    facts = fields;
    process.stderr.write(`${message}\n`);
  };
  const load = transformersLoader({
    dtype,
    cacheDir: cache,
    isOffline: false,
    hub: process.env.EMBEDDING_HUB ?? 'https://huggingface.co',
    threads,
    timeoutMs: 3_600_000,
    clock: systemClock,
    log: { info, warn: info, error: info },
  });
  const opened = await load(model);
  const folder = existsSync(resolve(model)) ? resolve(model) : join(cache, model);
  return {
    folder,
    variant: facts.dtype,
    embed: (texts) => opened.embed(texts, { dim: opened.dim, kind: 'passage' }),
    close: () => opened.close(),
  };
}

async function openPipeline({ folder, variant, threads, batch }) {
  const { env, pipeline } = fromRoot('@huggingface/transformers');
  env.allowRemoteModels = false;
  const extract = await pipeline('feature-extraction', folder, {
    dtype: variant,
    session_options: { intraOpNumThreads: threads },
  });
  const embedBy = async (texts, size) => {
    const vectors = [];
    for (let start = 0; start < texts.length; start += size) {
      const output = await extract(texts.slice(start, start + size), { pooling: 'mean', normalize: true });
      const dim = output.dims[1];
      for (let i = 0; i < output.dims[0]; i++) vectors.push(output.data.slice(i * dim, (i + 1) * dim));
    }
    return vectors;
  };
  return { embed: (texts) => embedBy(texts, batch), embedAlone: (texts) => embedBy(texts, 1) };
}

function leastCosine(some, others) {
  return Math.min(...some.map((vector, i) => vector.reduce((sum, value, j) => sum + value * others[i][j], 0)));
}
