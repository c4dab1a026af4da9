import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { percentile } from './load-generator.mjs';
import { MemoryGroup } from './memory-group.mjs';
import { openFiles, processorSeconds, residentMemory } from './process-facts.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';

export const COLLECTIONS_USAGE = `npm run bench -- collections [options]

Many collections in one process of which few are in use at a time: how fast they are made, what they take, how long a start and a list
take, and how long the first search of one waits that is closed because nobody uses it.

  --collections N  20000
  --items N        of each (1); with 0 they are only made
  --dim N          384
  --opened N       collections, drawn at random, that are searched behind a restart, one after the other (200)
  --at-once N      collections that are made at once (8)
  --memory BYTES   of the process, held by a memory cgroup (version 1 or 2), where the page cache counts, too (2000000000); 0: not held
  --set NAME=VALUE a setting of the process; may be repeated
  --json FILE      everything measured, as JSON
`;

/** So many lines while they are made. */
const PARTS = 10;
const MIB = 1024 * 1024;
const START_MS = 3_600_000;

export async function collectionsBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      collections: { type: 'string', default: '20000' },
      items: { type: 'string', default: '1' },
      dim: { type: 'string', default: '384' },
      opened: { type: 'string', default: '200' },
      'at-once': { type: 'string', default: '8' },
      memory: { type: 'string', default: '2000000000' },
      set: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(COLLECTIONS_USAGE);
    return;
  }
  const [collections, items, dim, opened, atOnce, memory] = [
    'collections',
    'items',
    'dim',
    'opened',
    'at-once',
    'memory',
  ].map((name) => Number(values[name]));
  const target = await openQuiver({
    environment: Object.fromEntries(
      values.set.map((setting) => [setting.slice(0, setting.indexOf('=')), setting.slice(setting.indexOf('=') + 1)]),
    ),
  });
  const { server } = target;
  const group = memory === 0 ? null : MemoryGroup.make(memory);
  if (group !== null) {
    const { program, words: own } = server;
    server.program = group.prefix[0];
    server.words = [...group.prefix.slice(1), program, ...own];
  }
  server.readyMs = START_MS;
  const bench = new Collections(target, { items, dim, atOnce });
  try {
    await server.start();
    const steps = [bench.step('new process', 0)];
    process.stdout.write(
      '| | collections | own memory, MiB | open files | made a second | processor time of each, ms |\n|---|---|---|---|---|---|\n',
    );
    say(steps[0]);
    for (let part = 1, made = 0; part <= PARTS; part++) {
      const until = Math.round((collections * part) / PARTS);
      steps.push(await bench.make(made, until));
      say(steps.at(-1));
      made = until;
    }
    const stopMs = await server.stop('SIGTERM');
    const startedAt = performance.now();
    await server.start();
    const startMs = performance.now() - startedAt;
    const startProcessorSeconds = processorSeconds(server.pid);
    steps.push(bench.step('behind a restart', collections));
    say(steps.at(-1));
    const list = await bench.list(collections);
    const again = await bench.list(collections);
    const names = bench.drawn(collections, opened);
    const first = await bench.search(names);
    const open = await bench.search(names);
    steps.push(bench.step('with those open', collections));
    say(steps.at(-1));
    process.stdout.write(
      `\nstopped in ${seconds(stopMs)} s, started in ${seconds(startMs)} (${startProcessorSeconds?.toFixed(1)} of a processor); listed in ${list.ms.toFixed(0)} ms, and again in ${again.ms.toFixed(0)}\n` +
        `first search of ${opened} closed ones: p50 ${first.p50Ms.toFixed(1)} ms, p99 ${first.p99Ms.toFixed(1)}; then p50 ${open.p50Ms.toFixed(1)} ms, p99 ${open.p99Ms.toFixed(1)}\n`,
    );
    if (group !== null)
      process.stdout.write(
        `of the group at most ${Math.round(group.facts.highest / MIB).toLocaleString('en')} MiB with the page cache; killed ${group.facts.kills} times\n`,
      );
    if (values.json !== undefined)
      writeFigures(values.json, {
        collections,
        items,
        dim,
        opened,
        atOnce,
        memory,
        steps,
        stopMs,
        startMs,
        startProcessorSeconds,
        list,
        again,
        first,
        open,
        group: group?.facts ?? null,
      });
  } finally {
    await server.destroy();
    group?.remove();
  }
}

class Collections {
  constructor(target, { items, dim, atOnce }) {
    this.target = target;
    this.items = items;
    this.dim = dim;
    this.atOnce = atOnce;
    const random = seededRandom(dim);
    this.vector = Array.from({ length: dim }, () => Number((random() - 0.5).toFixed(4)));
  }

  step(when, collections, made = {}) {
    const { pid } = this.target.server;
    return { when, collections, ownBytes: residentMemory(pid)?.ownBytes ?? null, files: openFiles(pid), ...made };
  }

  /** Makes and fills the collections with the numbers from `from` up to, but not including, `until`. */
  async make(from, until) {
    const { pid } = this.target.server;
    const before = processorSeconds(pid);
    const startedAt = performance.now();
    let next = from;
    const lanes = Array.from({ length: this.atOnce }, async () => {
      const connection = await HttpConnection.open(this.target.address);
      for (let n = next++; n < until; n = next++) {
        await this.ask(connection, 'POST', '/v1/collections', {
          name: nameOf(n),
          dim: this.dim,
          distance_metric: 'cosine',
        });
        if (this.items === 0) continue;
        const items = Array.from({ length: this.items }, (_, i) => ({
          external_id: `item-${i}`,
          vector: this.vector,
          metadata: { collection: n, item: i },
        }));
        await this.ask(connection, 'POST', `/v1/collections/${nameOf(n)}/bulk_upsert`, { items });
      }
      connection.close();
    });
    await Promise.all(lanes);
    const passed = (performance.now() - startedAt) / 1000;
    const used = before === null ? null : processorSeconds(pid) - before;
    return this.step('made', until, {
      madePerSecond: (until - from) / passed,
      processorMs: used === null ? null : (used * 1000) / (until - from),
    });
  }

  async list(expected) {
    const connection = await HttpConnection.open(this.target.address);
    const startedAt = performance.now();
    const { collections } = await this.ask(connection, 'GET', '/v1/collections');
    const ms = performance.now() - startedAt;
    connection.close();
    const wrong = collections.filter(({ vector_count: count }) => count !== this.items);
    if (collections.length !== expected || wrong.length > 0)
      throw new Error(`${collections.length} collections are listed, ${wrong.length} with a wrong count`);
    return { ms };
  }

  /** Names of different collections. */
  drawn(collections, count) {
    const random = seededRandom(collections);
    const names = new Set();
    while (names.size < Math.min(count, collections)) names.add(nameOf(Math.floor(random() * collections)));
    return [...names];
  }

  /** One search after the other. */
  async search(names) {
    const connection = await HttpConnection.open(this.target.address);
    const times = [];
    for (const name of names) {
      const startedAt = performance.now();
      const { results } = await this.ask(connection, 'POST', `/v1/collections/${name}/search`, {
        vector: this.vector,
        k: 10,
      });
      times.push(performance.now() - startedAt);
      if (results.length !== Math.min(10, this.items)) throw new Error(`${name}: ${results.length} results`);
    }
    connection.close();
    return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99), mostMs: percentile(times, 1) };
  }

  async ask(connection, method, path, body) {
    const { address, headers } = this.target;
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = JSON.parse(
      await connection.send(
        requestHead({ method, path, headers, ...address, bodyBytes: Buffer.byteLength(text) }),
        text,
      ),
    );
    if (answer.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(answer.error)}`);
    return answer.data;
  }
}

const nameOf = (n) => `many-${n}`;
const seconds = (ms) => (ms / 1000).toFixed(1);

/**
 * @param {{ when: string, collections: number, ownBytes: number | null, files: number | null, madePerSecond?: number,
 * processorMs?: number | null }} step
 */
function say({ when, collections, ownBytes, files, madePerSecond, processorMs }) {
  const cells = [
    when,
    collections.toLocaleString('en'),
    ownBytes === null ? '' : Math.round(ownBytes / MIB).toLocaleString('en'),
    files ?? '',
    madePerSecond?.toFixed(0) ?? '',
    processorMs?.toFixed(1) ?? '',
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
