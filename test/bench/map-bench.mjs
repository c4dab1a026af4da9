import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { processorSeconds, residentMemory } from './process-facts.mjs';

export const MAP_USAGE = `npm run bench -- map [options]

What the members of a large cluster pay to know its map: storage nodes and coordinators, as far as they follow the cluster
store, over a real etcd. Shards are open and hold nothing.

  --nodes N          storage nodes (100), each of three replicas of its part of the shards
  --coordinators N   (3)
  --shards N         (10000)
  --seconds N        of measuring at rest (60), after as long as the longest interval of the old form
  --changes N        changes of an assignment a second meanwhile (0)
  --processes N      processes that share the members (4)
  --beside FOLDER    another checkout that has been set up, measured before this one
  --json FILE        everything measured, as JSON
`;

const HOST = '127.0.0.1';
const PORT = 27_379;
/** Members that have just begun list what they watch. */
const SETTLE_MS = 15_000;
const REPLICAS = 3;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export async function mapBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      nodes: { type: 'string', default: '100' },
      coordinators: { type: 'string', default: '3' },
      shards: { type: 'string', default: '10000' },
      seconds: { type: 'string', default: '60' },
      changes: { type: 'string', default: '0' },
      processes: { type: 'string', default: '4' },
      beside: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(MAP_USAGE);
    return;
  }
  const [nodes, coordinators, shards, seconds, changes, processes] = [
    'nodes',
    'coordinators',
    'shards',
    'seconds',
    'changes',
    'processes',
  ].map((name) => Number(values[name]));
  const sides = values.beside === undefined ? [] : [{ name: 'beside', folder: resolve(values.beside) }];
  const results = [];
  for (const { name, folder } of [...sides, { name: 'this', folder: ROOT }]) {
    results.push({ name, ...(await measure({ folder, nodes, coordinators, shards, seconds, changes, processes })) });
  }
  process.stdout.write(
    `\n${nodes} nodes, ${coordinators} coordinators, ${shards} shards of ${REPLICAS} replicas, ${changes} changes a second, ${seconds} s\n\n`,
  );
  process.stdout.write(
    '|  | out of etcd, kB/s | processor time of etcd | of a member | memory of a member, MB |\n|---|---|---|---|---|\n',
  );
  for (const { name, bytesPerSecond, etcdShare, memberShare, memberBytes } of results) {
    process.stdout.write(
      `| ${name} | ${(bytesPerSecond / 1_000).toFixed(1)} | ${(etcdShare * 100).toFixed(1)} % of a core | ${(memberShare * 100).toFixed(2)} % | ${(memberBytes / 1e6).toFixed(1)} |\n`,
    );
  }
  if (values.json !== undefined) writeFigures(values.json, { nodes, coordinators, shards, seconds, changes, results });
}

async function measure({ folder, nodes, coordinators, shards, seconds, changes, processes }) {
  const scratch = mkdtempSync(join(tmpdir(), 'quiver-bench-map-'));
  const etcd = startEtcd(join(scratch, 'etcd'));
  const members = [];
  try {
    await answers();
    const { EtcdClusterStore } = (await import(join(folder, 'dist/shared/cluster-store/etcd/etcd-cluster-store.js')))
      .default;
    const { assignmentPath, assignmentToValue } = (
      await import(join(folder, 'dist/shared/cluster-store/entries/shard-assignment.js'))
    ).default;
    const store = new EtcdClusterStore({ endpoints: [`${HOST}:${PORT}`] });
    const put = async (list) =>
      store.transact(
        [],
        list.map((assignment) => ({
          type: 'put',
          key: assignmentPath(assignment.spec),
          value: assignmentToValue(assignment),
        })),
      );
    const assignments = Array.from({ length: shards }, (_, i) => assignmentOf(i, nodes));
    for (let from = 0; from < shards; from += 100) await put(assignments.slice(from, from + 100));

    const ids = [...names('node', nodes), ...names('coordinator', coordinators)];
    for (let i = 0; i < processes; i++)
      members.push(startMembers({ folder, scratch, ids: ids.filter((_, at) => at % processes === i) }));
    await Promise.all(members.map(({ ready }) => ready));
    await sleep(SETTLE_MS);

    const before = await facts(etcd, members);
    const endMs = performance.now() + seconds * 1_000;
    for (let i = 0; performance.now() < endMs; i++) {
      if (changes === 0) {
        await sleep(endMs - performance.now());
        break;
      }
      const assignment = assignments[(i * 7919) % shards];
      assignment.changeId = `${i}`;
      await put([assignment]);
      await sleep(1_000 / changes);
    }
    const after = await facts(etcd, members);
    await store.close();
    const memberBytes = members.reduce((sum, { child }) => sum + residentMemory(child.pid).ownBytes, 0) / ids.length;
    return {
      bytesPerSecond: (after.bytes - before.bytes) / seconds,
      etcdShare: (after.etcdSeconds - before.etcdSeconds) / seconds,
      memberShare: (after.memberSeconds - before.memberSeconds) / seconds / ids.length,
      memberBytes,
    };
  } finally {
    for (const { child } of members) child.kill('SIGKILL');
    etcd.kill('SIGKILL');
    rmSync(scratch, { recursive: true, force: true });
  }
}

function startEtcd(folder) {
  const [client, peer] = [PORT, PORT + 1].map((port) => `http://${HOST}:${port}`);
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

async function answers() {
  for (let attempt = 0; ; attempt++) {
    try {
      if ((await fetch(`http://${HOST}:${PORT}/health`)).ok) return;
    } catch (error) {
      if (attempt > 100) throw error;
    }
    await sleep(100);
  }
}

function startMembers({ folder, scratch, ids }) {
  const child = fork(fileURLToPath(new URL('map-members.mjs', import.meta.url)), [
    folder,
    scratch,
    `${HOST}:${PORT}`,
    ...ids,
  ]);
  const ready = new Promise((done, fail) => {
    child.once('message', done);
    child.once('exit', (code) => fail(new Error(`members ended with ${code}`)));
  });
  return { child, ready };
}

async function facts(etcd, members) {
  const metrics = await (await fetch(`http://${HOST}:${PORT}/metrics`)).text();
  return {
    bytes: Number(/^etcd_network_client_grpc_sent_bytes_total (\S+)$/m.exec(metrics)[1]),
    etcdSeconds: processorSeconds(etcd.pid),
    memberSeconds: members.reduce((sum, { child }) => sum + processorSeconds(child.pid), 0),
  };
}

function assignmentOf(shard, nodes) {
  const replicas = Array.from({ length: REPLICAS }, (_, i) => `node-${(shard + i) % nodes}`);
  const inSync = replicas.map((node) => ({ node, store: `${node}-store-0123456789abcdef` }));
  const spec = {
    collectionUid: `collection-${Math.floor(shard / 100)}`,
    shard: shard % 100,
    dim: 128,
    metric: 'cosine',
  };
  return {
    spec,
    minInSync: 2,
    epoch: 1,
    primary: inSync[0],
    inSync,
    eligible: [],
    replicas,
    adding: [],
    removing: [],
    changeId: '',
  };
}

function names(role, count) {
  return Array.from({ length: count }, (_, i) => `${role}-${i}`);
}
