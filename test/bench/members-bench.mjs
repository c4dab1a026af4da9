import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { assignmentsOf, HOST, MEASURED, nodeName, SECRET, sealedStore } from './members-map.mjs';
import { median } from './measure.mjs';
import { processorSeconds, residentMemory, threadMicros } from './process-facts.mjs';

export const MEMBERS_USAGE = `npm run bench -- members [options]

What a storage node of a large cluster takes while nobody reads or writes, and what etcd sends to its members meanwhile.

  --nodes N          storage nodes (100)
  --shards N         of three replicas (10000)
  --settle N         seconds before the first measurement (270): shards are dormant after 180, and V8 compiles for some minutes
  --seconds N        of measuring (20), in each of --rounds
  --rounds N         with the sides in turns (3)
  --port P           the first of some 210 ports (23000), for each side
  --beside FOLDER    another checkout that has been set up, run at the same time and measured in turns with this one
  --json FILE        everything measured, as JSON

What is real: etcd; the measured node, a process as in any cluster, with its share of the shards (300 of 30,000 replicas, of which
it leads 100) on a disk and the whole map; every other node's session, registration, watches of the map, connections, and
replicas of the shards that it shares with the measured node, with their stores and the protocol. All others are in one
process, each with a clock of its own.
What is left out: coordinators; and of the other nodes the replicas that they share with each other, whose shards are in the map
alone. So the processor time of their process says nothing.
`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OTHERS = fileURLToPath(new URL('members-others.mjs', import.meta.url));
const READY_WITHIN_MS = 180_000;
/** From the first port of a side: of etcd, of its peers, and from where those of the nodes begin. */
const PORTS = { etcd: 0, etcdPeer: 1, ops: 2, nodes: 4 };
/** The ports of another side come after those of this one. */
const SPARE_PORTS = 10;
/** Entries put in one transaction. */
const PUT_AT_ONCE = 100;
/** Shards opened at the same time. */
const OPENED_AT_ONCE = 15;

export async function membersBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      nodes: { type: 'string', default: '100' },
      shards: { type: 'string', default: '10000' },
      settle: { type: 'string', default: '270' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      port: { type: 'string', default: '23000' },
      beside: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(MEMBERS_USAGE);
    return;
  }
  const [nodes, shards, settle, seconds, rounds, port] = ['nodes', 'shards', 'settle', 'seconds', 'rounds', 'port'].map(
    (name) => Number(values[name]),
  );
  const folders = [
    ...(values.beside === undefined ? [] : [{ name: 'beside', folder: resolve(values.beside) }]),
    { name: 'this', folder: ROOT },
  ];
  const sides = [];
  try {
    for (const [i, side] of folders.entries())
      sides.push(await begin({ ...side, nodes, shards, port: port + i * (PORTS.nodes + nodes + SPARE_PORTS) }));
    process.stderr.write(
      `the measured node${sides.length > 1 ? 's are' : ' is'} ${sides.map(({ node }) => node.pid).join(', ')}\n`,
    );
    await sleep(settle * 1_000);
    for (let round = 0; round < rounds; round++)
      for (const side of sides) side.measured.push(await measure(side, seconds));
  } finally {
    for (const side of sides) end(side);
  }
  const of = ({ measured }, read) => median(measured.map(read));
  process.stdout.write(`\n${nodes} nodes, ${shards} shards of three replicas, ${rounds} × ${seconds} s, medians\n\n`);
  process.stdout.write(
    '| | processor time of the node | of its main thread | wakes of that a second | messages a second | pings | heartbeats and answers | out of etcd, kB/s | memory, MB |\n|---|---|---|---|---|---|---|---|---|\n',
  );
  for (const side of sides) {
    const figures = [
      of(side, ({ mainShare }) => mainShare * 100).toFixed(2),
      ...['wakes', 'messages', 'pings', 'said'].map((what) => of(side, (one) => one[what]).toFixed(0)),
    ];
    process.stdout.write(
      `| ${side.name} | ${(of(side, ({ share }) => share) * 100).toFixed(2)} % of a core | ${figures[0]} % | ${figures.slice(1).join(' | ')} | ${(of(side, ({ etcdBytes }) => etcdBytes) / 1e3).toFixed(1)} | ${(of(side, ({ memory }) => memory) / 1e6).toFixed(0)} |\n`,
    );
  }
  for (const side of sides) {
    const threads = new Set(side.measured.flatMap(({ byThread }) => Object.keys(byThread)));
    const shares = [...threads]
      .map((name) => [name, of(side, ({ byThread }) => byThread[name] ?? 0)])
      .sort((a, b) => b[1] - a[1]);
    process.stdout.write(
      `\n${side.name}, by thread: ${shares.map(([name, share]) => `${name} ${(share * 100).toFixed(2)} %`).join(', ')}; etcd ${(of(side, ({ etcdShare }) => etcdShare) * 100).toFixed(1)} %\n`,
    );
  }
  if (values.json !== undefined)
    writeFigures(values.json, {
      nodes,
      shards,
      settle,
      seconds,
      sides: sides.map(({ name, measured }) => ({ name, measured })),
    });
}

async function begin({ name, folder, nodes, shards, port }) {
  const scratch = mkdtempSync(join(tmpdir(), 'quiver-bench-members-'));
  const etcdAt = `${HOST}:${port + PORTS.etcd}`;
  const addressOf = (number) => `${HOST}:${port + PORTS.nodes + number}`;
  const side = {
    name,
    scratch,
    etcdAt,
    etcd: startEtcd(join(scratch, 'etcd'), port),
    node: null,
    others: null,
    store: null,
    measured: [],
  };
  try {
    await until('etcd', async () => (await fetch(`http://${etcdAt}/health`)).ok);
    const load = createRequire(join(folder, 'dist', 'index.js'));
    side.store = sealedStore(load, etcdAt);
    side.node = startNode({ folder, scratch, etcdAt, address: addressOf(0), opsPort: port + PORTS.ops });
    const entry = await until('the measured node', () => side.store.get(`/q/nodes/${MEASURED}`));
    const storeOf = (number) => (number === 0 ? JSON.parse(entry.value).store : `store-of-${nodeName(number)}`);
    const assignments = assignmentsOf({ nodes, shards, storeOf });
    if (nodes > 1) {
      side.others = fork(OTHERS, [
        JSON.stringify({
          folder,
          scratch,
          etcdAt,
          addresses: Array.from({ length: nodes }, (_, number) => addressOf(number)),
        }),
      ]);
      const [word] = await Promise.race([once(side.others, 'message'), once(side.others, 'exit')]);
      if (word !== 'ready') throw new Error(`the other nodes ended with ${word}`);
    }
    await make({ load, store: side.store, assignments });
    if (side.others !== null) await told(side.others, 'watch');
    process.stderr.write(`${name}: the replicas are open\n`);
    return side;
  } catch (error) {
    end(side);
    throw error;
  }
}

/**
 * Puts the shards into the map: those of the measured node in small groups, so that none of their replicas opens so
 * late that another gives its lead away.
 */
async function make({ load, store, assignments }) {
  const { assignmentPath, assignmentToValue } = load('./shared/cluster-store/entries/shard-assignment.js');
  const isOwn = ({ replicas }) => replicas.includes(MEASURED);
  const put = (some) =>
    store.transact(
      [],
      some.map((assignment) => ({
        type: 'put',
        key: assignmentPath(assignment.spec),
        value: assignmentToValue(assignment),
      })),
    );
  for (const some of groupsOf(
    assignments.filter((one) => !isOwn(one)),
    PUT_AT_ONCE,
  ))
    await put(some);
  const own = assignments.filter(isOwn);
  const found = async ({ spec }) => JSON.parse((await store.get(assignmentPath(spec))).value);
  for (const some of groupsOf(own, OPENED_AT_ONCE)) {
    await put(some);
    for (const one of some) await until('a shard', async () => (await found(one)).unused === false);
  }
  for (const one of own) {
    const { primary, inSync } = await found(one);
    if (primary.node !== one.primary.node || inSync.length !== one.inSync.length)
      throw new Error('a shard is not led as it should be: the machine has too much else to do');
  }
}

function groupsOf(all, size) {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

function startEtcd(folder, port) {
  const [client, peer] = [PORTS.etcd, PORTS.etcdPeer].map((offset) => `http://${HOST}:${port + offset}`);
  const words = [
    '--name',
    'etcd',
    '--data-dir',
    folder,
    '--listen-client-urls',
    client,
    '--advertise-client-urls',
    client,
  ];
  words.push(
    '--listen-peer-urls',
    peer,
    '--initial-advertise-peer-urls',
    peer,
    '--initial-cluster',
    `etcd=${peer}`,
    '--logger',
    'zap',
    '--log-level',
    'error',
  );
  return spawn('etcd', words, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function startNode({ folder, scratch, etcdAt, address, opsPort }) {
  const log = openSync(join(scratch, 'node.log'), 'a');
  const environment = {
    NODE_ID: MEASURED,
    DATA_DIR: join(scratch, MEASURED),
    ETCD_ENDPOINTS: `http://${etcdAt}`,
    CLUSTER_SECRET: SECRET,
    HOST,
  };
  const ports = { RPC_PORT: address.split(':')[1], OPS_PORT: String(opsPort), ADVERTISE_ADDRESS: address };
  return spawn(process.execPath, [join(folder, 'scripts', 'quiver.cjs'), 'node'], {
    env: { ...process.env, ...environment, ...ports },
    stdio: ['ignore', log, log],
  });
}

async function until(what, holds) {
  const endMs = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const held = await holds().catch(() => null);
    if (held) return held;
    if (performance.now() > endMs) throw new Error(`${what}: not ready in time`);
    await sleep(50);
  }
}

async function measure(side, seconds) {
  const before = await facts(side);
  const beganMs = performance.now();
  await sleep(seconds * 1_000);
  const after = await facts(side);
  const passed = (performance.now() - beganMs) / 1_000;
  const byThread = {};
  let share = 0;
  for (const [thread, micros] of after.micros) {
    const used = (micros - (before.micros.get(thread) ?? 0)) / 1e6 / passed;
    const name = nameOf(side.node.pid, thread);
    byThread[name] = (byThread[name] ?? 0) + used;
    share += used;
  }
  const rate = (read) => (read(after) - read(before)) / passed;
  return {
    share,
    mainShare: rate(({ micros }) => micros.get(side.node.pid)) / 1e6,
    byThread,
    wakes: rate(({ wakes }) => wakes),
    messages: rate(({ counts }) => counts.messages),
    pings: rate(({ counts }) => counts.pings),
    said: rate(({ counts }) => counts.said),
    etcdBytes: rate(({ etcdBytes }) => etcdBytes),
    etcdShare: rate(({ etcdSeconds }) => etcdSeconds),
    memory: residentMemory(side.node.pid).ownBytes,
  };
}

async function facts({ node, others, etcd, etcdAt }) {
  const metrics = await (await fetch(`http://${etcdAt}/metrics`)).text();
  const counts = others === null ? { messages: 0, pings: 0, said: 0 } : await told(others, 'counts');
  const wakes = Number(
    /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${node.pid}/task/${node.pid}/status`, 'utf8'))[1],
  );
  return {
    micros: threadMicros(node.pid),
    wakes,
    counts,
    etcdBytes: Number(/^etcd_network_client_grpc_sent_bytes_total (\S+)$/m.exec(metrics)[1]),
    etcdSeconds: processorSeconds(etcd.pid),
  };
}

async function told(child, word) {
  child.send(word);
  return (await once(child, 'message'))[0];
}

/** Threads of a kind have one name, but for numbers. */
function nameOf(pid, thread) {
  if (thread === pid) return 'main';
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim().replace(/\d+$/, '');
  } catch {
    return 'ended';
  }
}

function end({ scratch, etcd, node, others }) {
  for (const child of [others, node, etcd]) child?.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
