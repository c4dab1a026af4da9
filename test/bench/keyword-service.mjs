import { HttpConnection, requestHead } from './http-connection.mjs';
import { generateLoad } from './load-generator.mjs';
import { measureSettling } from './measure.mjs';
import { residentMemory } from './process-facts.mjs';
import { ProgressBar } from './progress-bar.mjs';
import { openQuiver } from './quiver-target.mjs';

const COLLECTION = '/v1/collections/bench';
const BATCH = 1000;
const LOAD_CONNECTIONS = 2;
const CONNECTION_COUNTS = [1, 8];
/** Small: every item has a vector, and it is not what is measured. */
const DIM = 4;
const K = 10;

/** A fresh service: loading by bulk_upsert, keyword searches (hybrid_search with alpha 0), and restarts. */
export async function measureKeywordService({ corpus, count, queries, language, seconds }) {
  const target = await openQuiver();
  try {
    const loading = await loadedService(target, { corpus, count, language });
    const requests = queries.map((words) => searchRequest(target, words));
    const firstAnswer = await answerTo(target, requests[0]);
    const speeds = [];
    for (const connections of CONNECTION_COUNTS)
      speeds.push(await generateLoad({ address: target.address, requests, connections, seconds }));
    const memory = residentMemory(target.server.pid);
    const restartMs = {};
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      await target.server.stop(signal);
      const startedAt = performance.now();
      await target.server.start();
      const answer = await answerTo(target, requests[0]);
      restartMs[signal] = performance.now() - startedAt;
      if (answer !== firstAnswer) throw new Error(`another answer after ${signal}`);
    }
    return { loading, speeds, memory, restartMs };
  } finally {
    await target.server.destroy();
  }
}

/** Starts the service and stores so many documents; resolves once it has nothing left to do for them. */
export async function loadedService(target, { corpus, count, language }) {
  await target.server.start();
  const created = await target.call('POST', '/v1/collections', {
    name: 'bench',
    dim: DIM,
    distance_metric: 'l2',
    language,
  });
  if (created.status !== 'success') throw new Error(`create: ${JSON.stringify(created.error)}`);
  const loading = await load(target, corpus, count);
  await measureSettling({ target, dataset: { count }, startedAt: loading.startedAt });
  return loading;
}

/** Of a corpus, the next document and a vector for it. */
export function nextItem(corpus) {
  const vector = Array.from({ length: DIM }, () => Math.fround(corpus.random()));
  return { vector, text: corpus.document() };
}

function searchRequest(target, words) {
  const body = JSON.stringify({ query_text: words.join(' '), vector: new Array(DIM).fill(1), alpha: 0, k: K });
  return { method: 'POST', path: `${COLLECTION}/hybrid_search`, headers: target.headers, body };
}

/** The hits of a search, as text. */
async function answerTo(target, request) {
  const connection = await HttpConnection.open(target.address);
  const head = requestHead({ ...request, ...target.address, bodyBytes: Buffer.byteLength(request.body) });
  const answer = JSON.parse(await connection.send(head, request.body));
  connection.close();
  if (answer.status !== 'success' || answer.data.results.length === 0)
    throw new Error(`hybrid_search: ${JSON.stringify(answer)}`);
  return JSON.stringify(answer.data.results);
}

async function load(target, corpus, count) {
  const bar = new ProgressBar({ label: 'loading', total: count });
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: LOAD_CONNECTIONS }, async () => {
      const connection = await HttpConnection.open(target.address);
      while (next < count) {
        const first = next;
        next = Math.min(count, next + BATCH);
        const items = Array.from({ length: next - first }, (_, i) => {
          return { external_id: `d${first + i}`, ...nextItem(corpus) };
        });
        const body = Buffer.from(JSON.stringify({ items }));
        const head = requestHead({
          method: 'POST',
          path: target.bulkPath,
          headers: target.headers,
          ...target.address,
          bodyBytes: body.length,
        });
        target.checkBulkAnswer(JSON.parse(await connection.send(head, body)), items.length);
        bar.report(first + items.length);
      }
      connection.close();
    }),
  );
  bar.finish();
  const seconds = (performance.now() - startedAt) / 1000;
  return { startedAt, seconds, rowsPerSecond: count / seconds };
}
