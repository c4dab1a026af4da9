import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/**
 * A server of the OpenAI protocol for embeddings, as a process of its own: `node provider-server.mjs MODEL THREADS`,
 * with a model of ONNX, or `made` for vectors that take no time. Says its port when it is ready.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const fromRoot = createRequire(join(ROOT, 'package.json'));
const MADE_DIM = 384;

const [name, threads] = process.argv.slice(2);
const embed = name === 'made' ? madeVectors() : await modelVectors(name, Number(threads));

const server = createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  const answer = async () => {
    const { input, model, encoding_format: encoding } = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    const vectors = await embed(input);
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding:
        encoding === 'base64'
          ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
          : [...vector],
    }));
    const tokens = input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }),
    );
  };
  request.on('end', () => void answer());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`${address.port}\n`);
});

function madeVectors() {
  const vector = Float32Array.from({ length: MADE_DIM }, (_, i) => Math.sin(i + 1));
  return async (texts) => texts.map(() => vector);
}

async function modelVectors(model, count) {
  const { transformersLoader } = fromRoot('./dist/coordinator/models/transformers/transformers-loader.js');
  const { systemClock } = fromRoot('./dist/shared/base/time/clock.js');
  const log = () => undefined;
  const opened = await transformersLoader({
    dtype: 'auto',
    cacheDir: '',
    isOffline: true,
    hub: 'http://127.0.0.1:9',
    threads: count,
    timeoutMs: 3_600_000,
    clock: systemClock,
    log: { info: log, warn: log, error: log },
  })(model);
  return (texts) => opened.embed(texts, { dim: opened.dim, kind: 'passage' });
}
