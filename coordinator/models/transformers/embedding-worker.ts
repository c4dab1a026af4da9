import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { EmbeddingReply, EmbeddingRequest, EmbeddingWorkerData } from './embedding-messages';
import { SentenceEncoder } from './sentence-encoder';

/** The entry point of the worker thread: loads one model, reports that, then answers requests one after another. */
async function main(port: MessagePort): Promise<void> {
  const say = (reply: EmbeddingReply): void =>
    port.postMessage(reply, reply.type === 'vectors' ? [reply.vectors.buffer] : []);
  let encoder: SentenceEncoder;
  try {
    encoder = await SentenceEncoder.open((workerData as EmbeddingWorkerData).description);
  } catch (error) {
    const isExpected = isQuiverError(error);
    say({
      type: 'failed',
      reason: isExpected ? error.message : 'its worker could not start',
      cause: describe(isExpected ? error.cause : error),
    });
    port.close();
    return;
  }
  let last: Promise<void> = Promise.resolve();
  port.on('message', (request: EmbeddingRequest) => {
    last = last.then(async () => {
      // Ends this thread only.
      if (request.type === 'end') process.exit();
      const { id, texts } = request;
      try {
        if (request.type === 'measure')
          return say({ type: 'lengths', id, lengths: texts.map((text) => encoder.tokenCount(text)) });
        const { vectors, left } = await encoder.encodeCounted(texts);
        say({ type: 'vectors', id, vectors: vectors as Float32Array<ArrayBuffer>, ...(left !== null && { left }) });
      } catch (error) {
        say({ type: 'error', id, cause: describe(error) });
      }
    });
  });
  say({ type: 'ready', dim: encoder.dim, isInvariant: encoder.isInvariant });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

if (parentPort !== null) void main(parentPort);
