import { createServer } from 'node:http';
import { openCluster } from './cluster-target.mjs';
import { data } from './documents-folder.mjs';
import { median } from './measure.mjs';
import { residentMemory } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';

const DIM = 32;
const CONNECTIONS = 16;
const LISTINGS = 20;
const LOOK_MS = 500;
const TELL_MS = 10_000;
const LISTS = { all: 'limit=100', queued: 'kind=document&state=queued&limit=100', failed: 'state=failed&limit=100' };

/**
 * Documents that wait, and then are stored: what they take of memory, how long lists of jobs take, and how many are
 * stored in a second. Their model is held until all wait.
 */
export async function measureQueue({ count, nodes }) {
  const model = await heldModel();
  const providers = JSON.stringify({ held: { url: model.url, models: ['made'] } });
  if (nodes > 0) process.env.EMBEDDING_PROVIDERS = providers;
  const target =
    nodes > 0
      ? await openCluster({ nodes, shards: 2, replicas: Math.min(nodes, 2) })
      : await openQuiver({ environment: { EMBEDDING_PROVIDERS: providers } });
  try {
    await target.server.start();
    await data(target, 'POST', '/v1/collections', { name: 'queue', embedding: { model: 'held:made' } });
    model.hold();
    const before = memoryOf(target);
    const empty = await listingMs(target);
    const startedAt = performance.now();
    await addTexts(target, count);
    const addedPerSecond = count / ((performance.now() - startedAt) / 1000);
    const waiting = memoryOf(target);
    const listing = await listingMs(target);
    model.release();
    const releasedAt = performance.now();
    let toldAt = releasedAt;
    for (let left = count; left > 0;) {
      await new Promise((wake) => setTimeout(wake, LOOK_MS));
      // On a busy machine it takes many minutes, and whoever waits is to see that it goes on.
      if (performance.now() - toldAt > TELL_MS) {
        toldAt = performance.now();
        const { vector_count: done } = await data(target, 'GET', '/v1/collections/queue');
        process.stderr.write(`${done} of ${count} are stored\n`);
      }
      const states = ['queued', 'running'].map((state) => `/v1/jobs?kind=document&state=${state}&limit=1`);
      const pages = await Promise.all(states.map((path) => data(target, 'GET', path)));
      left = pages.reduce((sum, { jobs }) => sum + jobs.length, 0);
    }
    const perSecond = count / ((performance.now() - releasedAt) / 1000);
    const { documents } = await data(target, 'GET', '/v1/collections/queue/documents?limit=1');
    const { vector_count: stored } = await data(target, 'GET', '/v1/collections/queue');
    const figures = {
      form: nodes > 0 ? `${nodes} nodes` : 'embedded',
      count,
      stored,
      addedPerSecond,
      perSecond,
      memoryMiB: { before, waiting, after: memoryOf(target) },
      listingMs: { empty, waiting: listing, after: await listingMs(target) },
    };
    if (documents.length !== 1 || stored !== count) process.stdout.write(`LOST: ${count - stored} documents\n`);
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    return figures;
  } finally {
    model.close();
    await target.server.destroy();
  }
}

async function addTexts(target, count) {
  let next = 0;
  const send = async () => {
    while (next < count) {
      const number = next++;
      const text = `Document ${number} waits until its turn has come.`;
      await data(target, 'POST', '/v1/documents', { collection_name: 'queue', document_key: `d${number}`, text });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
}

async function listingMs(target) {
  const took = {};
  for (const [name, query] of Object.entries(LISTS)) {
    const times = [];
    for (let i = 0; i < LISTINGS; i++) {
      const startedAt = performance.now();
      await data(target, 'GET', `/v1/jobs?${query}`);
      times.push(performance.now() - startedAt);
    }
    took[name] = Number(median(times).toFixed(1));
  }
  return took;
}

/** Of each process, in MiB. */
function memoryOf(target) {
  return target.server.pids.map((pid) => Math.round((residentMemory(pid)?.totalBytes ?? 0) / 2 ** 20));
}

/** A server of the OpenAI protocol for embeddings that answers when it may. */
async function heldModel() {
  let opened = Promise.resolve();
  let open = () => undefined;
  const answer = async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { input, model } = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    await opened;
    const vector = Array.from({ length: DIM }, (_, i) => Math.sin(i + 1));
    const all = input.map((_, index) => ({ object: 'embedding', index, embedding: vector }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data: all, model, usage: { prompt_tokens: 1, total_tokens: 1 } }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/v1`,
    hold: () => {
      opened = new Promise((resolve) => {
        open = () => resolve(undefined);
      });
    },
    release: () => open(),
    close: () => {
      open();
      server.closeAllConnections();
      server.close();
    },
  };
}
