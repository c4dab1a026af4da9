import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { median } from './measure.mjs';
import { threadMicros } from './process-facts.mjs';

export const LINKS_USAGE = `npm run bench -- links [options]

What the heartbeats of shards that nobody reads cost a node of a large cluster: its real streams to and from all other nodes,
without replicas, as processor time of its process. The other nodes share another process.

  --peers N          other nodes (99)
  --shards N         that the node leads and each other one follows, and as many the other way round (2)
  --pause MS         between two heartbeats (600)
  --settle N         seconds before the first measurement, in which V8 compiles (150)
  --seconds N        of measuring (10), in each of --rounds
  --rounds N         with the sides in turns (3)
  --port P           the first of 1 + peers ports on this machine (21000), for each side
  --beside FOLDER    another checkout that has been set up, run at the same time and measured in turns with this one
  --json FILE        everything measured, as JSON
`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MEMBER = fileURLToPath(new URL('links-member.mjs', import.meta.url));

export async function linksBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      peers: { type: 'string', default: '99' },
      shards: { type: 'string', default: '2' },
      pause: { type: 'string', default: '600' },
      settle: { type: 'string', default: '150' },
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
      port: { type: 'string', default: '21000' },
      beside: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(LINKS_USAGE);
    return;
  }
  const [peers, shards, pauseMs, settle, seconds, rounds, port] = [
    'peers',
    'shards',
    'pause',
    'settle',
    'seconds',
    'rounds',
    'port',
  ].map((name) => Number(values[name]));
  const folders = [
    ...(values.beside === undefined ? [] : [{ name: 'beside', folder: resolve(values.beside) }]),
    { name: 'this', folder: ROOT },
  ];
  const sides = [];
  try {
    for (const [i, { name, folder }] of folders.entries()) {
      const options = { folder, peers, shards, pauseMs, port: port + i * (peers + 1) };
      const children = [true, false].map((isMeasured) => fork(MEMBER, [JSON.stringify({ ...options, isMeasured })]));
      sides.push({ name, children, shares: [], heard: [] });
      await Promise.all(children.map((child) => once(child, 'message')));
      for (const child of children) child.send('begin');
    }
    await sleep(settle * 1_000);
    for (let round = 0; round < rounds; round++) for (const side of sides) await measure(side, seconds);
  } finally {
    for (const { children } of sides) for (const child of children) child.kill();
  }
  const messages = (4 * peers * 1_000) / pauseMs;
  process.stdout.write(
    `\n${peers} other nodes, ${messages.toFixed(0)} beats and answers a second sent and received, ${rounds} × ${seconds} s, medians\n\n| | processor time | of a message | heartbeats and answers taken a second |\n|---|---|---|---|\n`,
  );
  for (const { name, shares, heard } of sides) {
    const share = median(shares);
    process.stdout.write(
      `| ${name} | ${(share * 100).toFixed(2)} % of a core | ${((share * 1e6) / messages).toFixed(1)} µs | ${median(heard).toFixed(0)} |\n`,
    );
  }
  if (values.json !== undefined)
    writeFigures(values.json, {
      peers,
      shards,
      pauseMs,
      settle,
      seconds,
      sides: sides.map(({ name, shares, heard }) => ({ name, shares, heard })),
    });
}

async function measure({ children: [node], shares, heard }, seconds) {
  const [micros, taken, beganMs] = [totalOf(node.pid), await countsOf(node), performance.now()];
  await sleep(seconds * 1_000);
  const passed = (performance.now() - beganMs) / 1_000;
  shares.push((totalOf(node.pid) - micros) / 1e6 / passed);
  heard.push(((await countsOf(node)) - taken) / passed);
}

function totalOf(pid) {
  let sum = 0;
  for (const micros of threadMicros(pid).values()) sum += micros;
  return sum;
}

async function countsOf(child) {
  child.send('counts');
  const [{ appends, answers }] = await once(child, 'message');
  return appends + answers;
}
