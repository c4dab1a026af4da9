import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { env, pipeline } from '@huggingface/transformers';

/** Sentences embedded at once; of near-equal length, so that padding costs next to nothing. */
const BATCH_SENTENCES = 16;

const folder = resolve(workerData.model);
const isLocal = existsSync(folder);
if (isLocal) env.allowRemoteModels = false;

/** The int8 model on one thread: several workers of one thread each are faster than one worker of several. */
const extract = await pipeline('feature-extraction', isLocal ? folder : workerData.model, {
  dtype: 'q8',
  session_options: { intraOpNumThreads: 1, interOpNumThreads: 1 },
});

/** Embeds a block of sentences; answers one row-major matrix of unit vectors in the order of the sentences. */
async function embedBlock(sentences) {
  const byLength = sentences.map((_, i) => i).sort((a, b) => sentences[a].length - sentences[b].length);
  let vectors;
  for (let start = 0; start < byLength.length; start += BATCH_SENTENCES) {
    const batch = byLength.slice(start, start + BATCH_SENTENCES);
    const output = await extract(
      batch.map((i) => sentences[i]),
      { pooling: 'mean', normalize: true },
    );
    const dim = output.dims[1];
    vectors ??= new Float32Array(sentences.length * dim);
    batch.forEach((i, row) => vectors.set(output.data.subarray(row * dim, (row + 1) * dim), i * dim));
  }
  return vectors;
}

parentPort.on('message', ({ block, sentences }) => {
  void embedBlock(sentences).then((vectors) => parentPort.postMessage({ block, vectors }, [vectors.buffer]));
});
parentPort.postMessage({ ready: true });
