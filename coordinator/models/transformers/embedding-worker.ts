import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { openPairScorer } from '../rerank/open-pair-scorer';
import type { PairScorer } from '../rerank/pair-scorer';
import { yieldToServing } from '../thread-priority';
import type { EmbeddingReply, EmbeddingRequest, EmbeddingWorkerData } from './embedding-messages';
import { SentenceEncoder } from './sentence-encoder';

/** Some hundred milliseconds of all processors for a search that reranks, beside searches that take one or two. */
const RERANKING_NICENESS = 10;

/** A request that is answered. */
type Question = Exclude<EmbeddingRequest, { type: 'end' }>;

/** A loaded model: what it says when it is ready, and how it answers. */
interface Answering {
  ready: EmbeddingReply & { type: 'ready' };
  answer(question: Question): Promise<EmbeddingReply>;
}

/** The entry point of the worker thread: loads one model, reports that, then answers requests one after another. */
async function main(port: MessagePort): Promise<void> {
  const say = (reply: EmbeddingReply): void =>
    port.postMessage(reply, reply.type === 'vectors' ? [reply.vectors.buffer] : []);
  let model: Answering;
  try {
    const { description, scores } = workerData as EmbeddingWorkerData;
    if (scores !== undefined) yieldToServing(RERANKING_NICENESS);
    model =
      scores === undefined
        ? embedding(await SentenceEncoder.open(description))
        : scoring(await openPairScorer(scores, description));
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
      try {
        say(await model.answer(request));
      } catch (error) {
        say({ type: 'error', id: request.id, cause: describe(error) });
      }
    });
  });
  say(model.ready);
}

function embedding(encoder: SentenceEncoder): Answering {
  return {
    ready: { type: 'ready', dim: encoder.dim, isInvariant: encoder.isInvariant },
    async answer({ type, id, texts }) {
      if (type === 'measure') return { type: 'lengths', id, lengths: texts.map((text) => encoder.tokenCount(text)) };
      const { vectors, left } = await encoder.encodeCounted(texts);
      return { type: 'vectors', id, vectors: vectors as Float32Array<ArrayBuffer>, ...(left !== null && { left }) };
    },
  };
}

function scoring(scorer: PairScorer): Answering {
  return {
    ready: { type: 'ready', dim: 1, isInvariant: false },
    async answer(question) {
      if (question.type !== 'score') throw new Error('a model that scores pairs was asked for something else');
      const scores: number[] = [];
      for (const text of question.texts) scores.push(await scorer.score(question.query, text));
      return { type: 'scores', id: question.id, scores };
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

if (parentPort !== null) void main(parentPort);
