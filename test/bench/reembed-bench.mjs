import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openCluster } from './cluster-target.mjs';
import { data, treeSeconds } from './documents-folder.mjs';
import { writeFigures } from './figures-file.mjs';
import { generateLoad } from './load-generator.mjs';
import { median } from './measure.mjs';
import { embedAlone, openModel } from './model-alone.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom, shuffle } from './seeded-random.mjs';
import { readSentences } from './sentences.mjs';

export const REEMBED_USAGE = `npm run bench -- reembed --model FOLDER [options]

What it takes to give a collection of texts vectors of another model while it is used:

  rate       texts in a second, and time of processors for a text, beside those of the model alone, in turns
  searches   while it is filled and while the job is paused, in turns: by vector, and by text in another collection that
             has the same model
  switch     the longest that one client waits for a write of a text, of those that it makes one after the other

  --model FOLDER     of a model; --threads N has it (1)
  --text FOLDER      where sentences are read from, may be repeated (/usr/share/common-licenses, /usr/share/doc)
  --texts N          in the collection (12000)
  --items N          that are in it when it switches (1000)
  --shards N         2              --nodes N          of a cluster for the switches, besides (0)
  --seconds N        of each turn of searches (5)      --rounds N         turns, and switches (5)
  --only WHAT        rate, searches or switch
  --json FILE        everything measured, as JSON
`;

const SEED = 7;
const COLLECTION = 'bench';
const OTHER = 'other';
const PAGE = 500;
/** Vectors that are looked for. */
const QUERIES = 100;
const LOOK_MS = 20;
/** Writes that are made before and after a switch, and what it takes until it is one. */
const BESIDE_MS = 1_500;

export async function reembedBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      model: { type: 'string' },
      threads: { type: 'string', default: '1' },
      text: { type: 'string', multiple: true, default: ['/usr/share/common-licenses', '/usr/share/doc'] },
      texts: { type: 'string', default: '12000' },
      items: { type: 'string', default: '1000' },
      shards: { type: 'string', default: '2' },
      nodes: { type: 'string', default: '0' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', multiple: true, default: ['rate', 'searches', 'switch'] },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(REEMBED_USAGE);
  if (values.model === undefined) throw new Error(`--model is missing\n\n${REEMBED_USAGE}`);
  const [threads, count, items, shards, nodes, seconds, rounds] = [
    values.threads,
    values.texts,
    values.items,
    values.shards,
    values.nodes,
    values.seconds,
    values.rounds,
  ].map(Number);
  const model = resolve(values.model);
  const sentences = shuffle(readSentences(values.text), seededRandom(SEED));
  const texts = sentences.slice(0, count);
  if (texts.length < count) process.stderr.write(`only ${texts.length} sentences under ${values.text.join(', ')}\n`);
  const environment = { EMBEDDING_MODEL: model, EMBEDDING_THREADS: String(threads) };
  const asks = (what) => values.only.includes(what);
  /** @type {Record<string, any>} */
  const figures = {};
  const target = await openQuiver({ environment });
  try {
    await target.server.start();
    if (asks('rate')) figures.rate = await measureRate(target, { model, threads, texts, shards, rounds });
    if (asks('searches')) figures.searches = await measureBeside(target, { model, texts, shards, seconds, rounds });
    const asked = { model, texts: texts.slice(0, items), shards, rounds };
    if (asks('switch')) figures.switches = await measureSwitches(target, 'embedded', asked);
    if (asks('switch') && nodes > 0) {
      await target.server.stop('SIGTERM');
      const cluster = await openCluster({ nodes, shards, replicas: 1, environment });
      try {
        await cluster.server.start();
        figures.clusterSwitches = await measureSwitches(cluster, `a cluster of ${nodes} nodes`, asked);
      } finally {
        await cluster.server.destroy();
      }
    }
  } finally {
    await target.server.destroy();
  }
  if (values.json !== undefined) writeFigures(values.json, figures);
}

/** How fast a collection is filled, beside how fast the model embeds the same texts alone. */
async function measureRate(target, { model, threads, texts, shards, rounds }) {
  const alone = await openModel(model, threads);
  const turns = [];
  try {
    await embedAlone(alone, texts.slice(0, PAGE));
    for (let round = 0; round < rounds; round++) {
      const part = texts.filter((_, i) => i % rounds === round);
      await filledCollection(target, COLLECTION, part, shards);
      const { seconds, cpuSeconds } = await embedAlone(alone, part);
      const own = part.length / seconds;
      const ownCpuMs = (1000 * cpuSeconds) / part.length;
      const before = treeSeconds(target.server.pid);
      const begunAt = performance.now();
      const { id } = await reembed(target, model);
      await until(target, id, ({ done }) => done >= part.length);
      const rate = part.length / ((performance.now() - begunAt) / 1000);
      const cpuMs = (1000 * (treeSeconds(target.server.pid) - before)) / part.length;
      await ended(target, id);
      await data(target, 'DELETE', `/v1/collections/${COLLECTION}`);
      turns.push({ rate, own, share: rate / own, cpuMs, ownCpuMs });
      process.stdout.write(
        `${rate.toFixed(1)} texts/s, the model alone ${own.toFixed(1)}: ${percent(rate / own)}; of processors ` +
          `${cpuMs.toFixed(2)} and ${ownCpuMs.toFixed(2)} ms a text\n`,
      );
    }
  } finally {
    await alone.close();
  }
  const share = median(turns.map((turn) => turn.share));
  const cpu = median(turns.map(({ cpuMs, ownCpuMs }) => cpuMs / ownCpuMs));
  process.stdout.write(`rate: ${percent(share)} of the model's own, for ${cpu.toFixed(2)} × the time of processors\n`);
  return { share, cpu, turns };
}

/** Searches while it is filled, beside those while the job is paused. */
async function measureBeside(target, { model, texts, shards, seconds, rounds }) {
  await filledCollection(target, COLLECTION, texts, shards);
  await data(target, 'POST', '/v1/collections', { name: OTHER, shards, embedding: { model: `local:${model}` } });
  await put(target, OTHER, texts.slice(0, PAGE));
  const { vectors } = await data(target, 'POST', `/v1/collections/${COLLECTION}/vectors/fetch`, {
    ids: Array.from({ length: QUERIES }, (_, i) => `t${i}`),
  });
  const request = (collection, body) => ({
    method: 'POST',
    path: `/v1/collections/${collection}/search`,
    headers: target.headers,
    body: JSON.stringify({ ...body, k: 10 }),
  });
  let asked = 0;
  const kinds = {
    vector: () => vectors.map(({ vector }) => request(COLLECTION, { vector })),
    // None that is remembered.
    text: () => texts.map((text) => request(OTHER, { text: `${text} ${asked++}` })),
  };
  const { id } = await reembed(target, model);
  /** @type {Record<string, { paused: any[], filling: any[] }>} */
  const found = {};
  for (let round = 0; round < rounds; round++)
    for (const [kind, requests] of Object.entries(kinds))
      for (const how of ['paused', 'filling']) {
        await data(target, 'POST', `/v1/jobs/${id}/${how === 'paused' ? 'pause' : 'resume'}`);
        const before = await data(target, 'GET', `/v1/jobs/${id}`);
        const { p50Ms, p99Ms } = await generateLoad({
          address: target.address,
          requests: requests(),
          connections: 1,
          seconds,
        });
        const after = await data(target, 'GET', `/v1/jobs/${id}`);
        if (how === 'filling' && after.step !== 'filling') throw new Error('it was filled too soon: more --texts');
        found[kind] ??= { paused: [], filling: [] };
        found[kind][how].push({ p50Ms, p99Ms, textsPerSecond: (after.done - before.done) / seconds });
      }
  await ended(target, id);
  for (const name of [COLLECTION, OTHER]) await data(target, 'DELETE', `/v1/collections/${name}`);
  return Object.fromEntries(
    Object.entries(found).map(([kind, { paused, filling }]) => {
      const of = (all, name) => median(all.map((one) => one[name]));
      const ratio = median(filling.map((one, i) => one.p99Ms / paused[i].p99Ms));
      process.stdout.write(
        `searches by ${kind}: p50 ${ms(of(paused, 'p50Ms'))}, p99 ${ms(of(paused, 'p99Ms'))} ms while it is paused; ` +
          `${ms(of(filling, 'p50Ms'))}, ${ms(of(filling, 'p99Ms'))} ms while it is filled, ${ratio.toFixed(2)} times the p99, ` +
          `beside ${of(filling, 'textsPerSecond').toFixed(0)} texts/s\n`,
      );
      return [kind, { paused, filling, ratio }];
    }),
  );
}

/** The longest that a client waits for a write while it switches, and goes back. */
async function measureSwitches(target, name, { model, texts, shards, rounds }) {
  const longest = { switch: [], back: [], otherwise: [] };
  await filledCollection(target, COLLECTION, texts, shards);
  for (let round = 0; round < rounds; round++) {
    const { id } = await reembed(target, model);
    await until(target, id, ({ step }) => step === 'ready');
    for (const [what, step] of [
      ['switch', 'switched'],
      ['back', 'cancelled'],
    ]) {
      const writes = new Writes(target, texts);
      await wait(BESIDE_MS);
      const since = performance.now();
      await data(target, 'POST', `/v1/jobs/${id}/${what}`);
      await until(target, id, (job) => job.step === step || job.state === step);
      const till = performance.now();
      await wait(BESIDE_MS);
      const waits = await writes.end();
      const isBeside = (write) => write.since + write.ms >= since && write.since <= till;
      longest[what].push(most(waits.filter(isBeside)));
      longest.otherwise.push(most(waits.filter((write) => !isBeside(write))));
    }
  }
  await data(target, 'DELETE', `/v1/collections/${COLLECTION}`);
  const all = [...longest.switch, ...longest.back];
  process.stdout.write(
    `${name}: the longest that a write waited: switches ${longest.switch.map(ms).join(', ')}; ` +
      `ways back ${longest.back.map(ms).join(', ')}; at other times ${longest.otherwise.map(ms).join(', ')} ms; ` +
      `median ${ms(median(all))}, most ${ms(Math.max(...all))}\n`,
  );
  return longest;
}

/** A client that writes texts one after the other. */
class Writes {
  #waits = [];
  #isOver = false;
  #done;

  constructor(target, texts) {
    this.#done = this.#run(target, texts);
  }

  async #run(target, texts) {
    for (let n = 0; !this.#isOver; n++) {
      const since = performance.now();
      await data(target, 'POST', `/v1/collections/${COLLECTION}/upsert`, {
        external_id: `w${n % 100}`,
        text: `${texts[n % texts.length]} ${Math.round(since)}`,
      });
      this.#waits.push({ since, ms: performance.now() - since });
    }
  }

  async end() {
    this.#isOver = true;
    await this.#done;
    return this.#waits;
  }
}

async function filledCollection(target, name, texts, shards) {
  await data(target, 'POST', '/v1/collections', {
    name,
    shards,
    dim: 384,
    embedding: { model: 'local:builtin' },
  });
  await put(target, name, texts);
}

async function put(target, name, texts) {
  for (let at = 0; at < texts.length; at += PAGE)
    await data(target, 'POST', `/v1/collections/${name}/bulk_upsert`, {
      items: texts.slice(at, at + PAGE).map((text, i) => ({ external_id: `t${at + i}`, text })),
    });
}

function reembed(target, model) {
  return data(target, 'POST', `/v1/collections/${COLLECTION}/reembed`, {
    model: `local:${model}`,
    compare: { sample: 50 },
  });
}

/** Gives it up. */
async function ended(target, id) {
  await data(target, 'DELETE', `/v1/jobs/${id}`);
  await until(target, id, ({ state }) => state === 'cancelled');
}

async function until(target, id, is) {
  for (;;) {
    const job = await data(target, 'GET', `/v1/jobs/${id}`);
    if (is(job)) return;
    if (job.state === 'failed') throw new Error(`the job failed: ${job.error}`);
    await wait(LOOK_MS);
  }
}

function wait(forMs) {
  return new Promise((wake) => setTimeout(wake, forMs));
}

function most(writes) {
  return Math.max(0, ...writes.map((write) => write.ms));
}

function ms(value) {
  return value.toFixed(1);
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
