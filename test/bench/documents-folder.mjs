import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { embedAlone, openModel } from './model-alone.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom, shuffle } from './seeded-random.mjs';

const SEED = 11;
const CONNECTIONS = 4;
const LOOK_MS = 200;
const PAGE = 1_000;
/** Files in this folder are to be refused. */
const BROKEN = /(?:^|\/)broken\//;
const TICKS_PER_SECOND = 100;

/**
 * Adds the files of a folder to a service, slice by slice, and after each has the model embed the same texts alone.
 * Says what became of every file, and whether each that was stored is found by its own words.
 */
export async function measureFolder({ folder, model, threads, slices }) {
  const name = resolve(model);
  const files = shuffle(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort((a, b) => (a < b ? -1 : 1)),
    seededRandom(SEED),
  ).map((path) => ({ path, key: relative(folder, path) }));
  const alone = await openModel(name, threads);
  const target = await openQuiver({ environment: { EMBEDDING_MODEL: name, EMBEDDING_THREADS: String(threads) } });
  const measured = [];
  const failed = [];
  const unfound = [];
  try {
    await target.server.start();
    await warmUp(target, alone);
    for (let slice = 0; slice < slices; slice++) {
      const part = files.filter((_, i) => i % slices === slice);
      const collection = `slice-${slice}`;
      await data(target, 'POST', '/v1/collections', { name: collection, dim: alone.dim });
      const outcome = await addAll(target, collection, part);
      failed.push(...outcome.failed);
      const { chunks, keys } = await chunksOf(target, collection);
      unfound.push(...part.filter(({ key }) => !BROKEN.test(key) && !keys.has(key)).map(({ key }) => key));
      unfound.push(...(await notFound(target, collection, chunks)));
      const own = await embedAlone(alone, [...chunks.values()].flatMap(distinct));
      measured.push({ files: part.length, texts: outcome.embedded, ...outcome.took, alone: own });
      if (own.texts !== outcome.embedded)
        process.stderr.write(`${collection}: ${outcome.embedded} embedded, ${own.texts} there\n`);
      process.stdout.write(`${line(measured.at(-1))}\n`);
      await data(target, 'DELETE', `/v1/collections/${collection}`);
    }
  } finally {
    await target.server.destroy();
    await alone.close();
  }
  const sum = (of) => measured.reduce((total, one) => total + of(one), 0);
  const all = {
    files: sum(({ files: count }) => count),
    texts: sum(({ texts }) => texts),
    seconds: sum(({ seconds }) => seconds),
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
    alone: {
      texts: sum((one) => one.alone.texts),
      seconds: sum((one) => one.alone.seconds),
      cpuSeconds: sum((one) => one.alone.cpuSeconds),
    },
  };
  process.stdout.write(`in all: ${line(all)}\n`);
  const refused = failed.filter(({ key }) => BROKEN.test(key));
  const told = new Set(failed.map(({ key }) => key));
  const taken = files.filter(({ key }) => BROKEN.test(key) && !told.has(key));
  process.stdout.write(`${refused.length} broken files are refused:\n`);
  for (const { key, error } of refused) process.stdout.write(`  ${key}: ${error}\n`);
  for (const { key } of taken) process.stdout.write(`BROKEN AND STORED: ${key}\n`);
  for (const { key, error } of failed.filter((one) => !BROKEN.test(one.key)))
    process.stdout.write(`REFUSED: ${key}: ${error}\n`);
  for (const key of unfound) process.stdout.write(`NOT FOUND: ${key}\n`);
  return { ...all, slices: measured, failed, unfound };
}

function line({ files, texts, seconds, cpuSeconds, alone }) {
  const [rate, own] = [texts / seconds, alone.texts / alone.seconds];
  return (
    `${files} files, ${texts} texts: ${rate.toFixed(1)} texts/s, the model alone ${own.toFixed(1)}: ` +
    `${((100 * rate) / own).toFixed(1)} %; of processors ${((1000 * cpuSeconds) / texts).toFixed(1)} and ` +
    `${((1000 * alone.cpuSeconds) / alone.texts).toFixed(1)} ms a text`
  );
}

/** From the first request to the end of the last job. */
async function addAll(target, collection, files) {
  const waiting = new Map();
  const failed = [];
  const before = treeSeconds(target.server.pid);
  const startedAt = Date.now();
  const queue = [...files];
  const send = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const answer = await addFile(target, collection, file);
      if (answer.status === 'success') waiting.set(answer.data.job_id, file.key);
      else if (answer.error.code === 429) {
        queue.push(file);
        await pause();
      } else failed.push({ key: file.key, error: answer.error.message });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  // Looking costs the service as little as it can: what is measured is the documents.
  while ((await isUnderWay(target, 'running')) || (await isUnderWay(target, 'queued'))) await pause();
  const cpuSeconds = treeSeconds(target.server.pid) - before;
  const jobs = await pages(target, `/v1/jobs?kind=document&collection=${collection}&limit=${PAGE}`, 'jobs');
  const endedAt = Math.max(...jobs.map(({ ended_at: at }) => Date.parse(at)));
  let embedded = 0;
  for (const { id, state, error, result } of jobs) {
    if (state === 'done') embedded += result.embedded ?? 0;
    else failed.push({ key: waiting.get(id), error: error ?? state });
  }
  return { embedded, failed, took: { seconds: (endedAt - startedAt) / 1000, cpuSeconds } };
}

async function isUnderWay(target, state) {
  return (await data(target, 'GET', `/v1/jobs?kind=document&state=${state}&limit=1`)).jobs.length > 0;
}

/** @returns {Promise<any>} */
async function addFile(target, collection, { path, key }) {
  const form = new FormData();
  form.set('collection_name', collection);
  form.set('document_key', key);
  form.set('file', new Blob([readFileSync(path)]), basename(path));
  const { host, port } = target.address;
  const answer = await fetch(`http://${host}:${port}/v1/documents`, {
    method: 'POST',
    headers: target.headers,
    body: form,
  });
  return answer.json();
}

/** The texts of each document, and the keys of all. */
async function chunksOf(target, collection) {
  const chunks = new Map();
  const keys = new Set();
  let cursor;
  do {
    const page = await data(target, 'POST', `/v1/collections/${collection}/scroll`, {
      limit: PAGE,
      include_vectors: false,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { text, metadata } of page.vectors) {
      keys.add(metadata.document_key);
      chunks.set(metadata.document_key, [...(chunks.get(metadata.document_key) ?? []), text]);
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { chunks, keys };
}

/** Documents of which a text in the middle is not among the first five that are found by itself. */
async function notFound(target, collection, chunks) {
  const missing = [];
  for (const [key, texts] of chunks) {
    const text = texts[texts.length >> 1];
    const { results } = await data(target, 'POST', '/v1/query', {
      collection_name: collection,
      query: text.slice(0, 1_000),
      top_k: 5,
    });
    // Licences are in many a file.
    if (!results.some((hit) => hit.text === text || hit.metadata.document_key === key)) missing.push(key);
  }
  return missing;
}

async function warmUp(target, alone) {
  await data(target, 'POST', '/v1/collections', { name: 'warm', dim: alone.dim });
  const text = Array.from({ length: 200 }, (_, i) => `Sentence ${i} warms the model up before it is measured.`).join(
    ' ',
  );
  await data(target, 'POST', '/v1/documents', { collection_name: 'warm', text, wait: true });
  await alone.embed(text.split('. '), { dim: alone.dim, kind: 'passage' });
}

function distinct(texts) {
  return [...new Set(texts)];
}

/** Processor time of a process and all that it started, those that ended among them. */
export function treeSeconds(pid) {
  const own = fieldsOf(pid);
  const children = own === null ? [] : childrenOf(pid);
  const ticks = own === null ? 0 : own.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / TICKS_PER_SECOND + children.reduce((sum, child) => sum + treeSeconds(child), 0);
}

function fieldsOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return null;
  }
}

function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      return readFileSync(`/proc/${pid}/task/${id}/children`, 'utf8').trim().split(' ').filter(Boolean);
    } catch {
      return [];
    }
  });
}

async function pages(target, path, member) {
  const found = [];
  let cursor = null;
  do {
    const page = await data(target, 'GET', `${path}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...page[member]);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

export async function data(target, method, path, body) {
  const answer = await target.call(method, path, body);
  if (answer.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function pause() {
  return new Promise((wake) => setTimeout(wake, LOOK_MS));
}
