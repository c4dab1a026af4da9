import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { freePorts } from '../../support/servers/free-ports';
import { MemberProcess } from '../../support/processes/member-process';
import { NODES_PREFIX } from '../../../shared/cluster-store/entries/members';
import { EtcdClusterStore } from '../../../shared/cluster-store/etcd/etcd-cluster-store';

/** Two processes with one NODE_ID: the second is refused, and the first takes no harm. */

let cluster: ClusterProcesses;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-twice-'));
  cluster = await ClusterProcesses.start({ nodes: 1, coordinators: 1, replicas: 1, shards: 1 });
});
afterAll(async () => {
  await cluster?.destroy();
  rmSync(folder, { recursive: true, force: true });
});

/** Another process under the name of `member`, with ports and a data folder of its own. */
async function double(member: MemberProcess): Promise<MemberProcess> {
  const [port, rpc, ops] = await freePorts(3);
  return member.double({
    port: member.role === 'node' ? rpc : port,
    rpcPort: rpc,
    opsPort: ops,
    dataDir: join(folder, member.id),
  });
}

const entriesOfNodes = async (): Promise<string[]> => {
  const store = new EtcdClusterStore({ endpoints: [cluster.etcd.endpoint], callTimeoutMs: 60_000 });
  try {
    return (await store.list(NODES_PREFIX)).entries.map(({ value }) => value);
  } finally {
    await store.close();
  }
};

/** What an entry says, without its seal and what the node writes anew while it runs: the free bytes of its disk. */
const steady = (entry: string): object => ({
  ...(JSON.parse(entry.slice(entry.indexOf('{'))) as object),
  freeBytes: undefined,
});

test('a second node or coordinator of the same name is refused with one line', async () => {
  const before = await entriesOfNodes();
  const doubles = await Promise.all([cluster.nodes[0], cluster.coordinators[0]].map(double));
  for (const one of doubles) one.spawn();
  expect(await Promise.all(doubles.map((one) => one.ended()))).toEqual([1, 1]);
  for (const { id, output } of doubles)
    expect(output.trimEnd()).toMatch(new RegExp(`^NODE_ID ${id} is in use by another process, at [^\\n]*$`));
  expect((await entriesOfNodes()).map(steady)).toEqual(before.map(steady));
  expect((await cluster.view()).nodes.map(({ id, state }) => [id, state])).toEqual([['node-0', 'up']]);
});

test('a node that was killed comes back at once, though its old session lives', async () => {
  const [node] = cluster.nodes;
  const [before] = await entriesOfNodes();
  // A busy machine may take longer to start a process than a session lasts: it is kept alive, as by the process itself.
  const { kvs } = await cluster.etcd.command('kv/range', {
    key: Buffer.from(`${NODES_PREFIX}${node.id}`).toString('base64'),
  });
  const keepAlive = setInterval(
    () => void cluster.etcd.command('lease/keepalive', { ID: kvs[0].lease }).catch(() => undefined),
    500,
  );
  const seen: (string | undefined)[] = [];
  try {
    await node.kill();
    await node.start();
    await eventually('it is registered', async () => {
      seen.push((await entriesOfNodes())[0]);
      return seen.at(-1) !== before;
    });
  } finally {
    clearInterval(keepAlive);
  }
  // Its old entry was replaced: it did not have to end first.
  expect(seen).not.toContain(undefined);
  await cluster.settled();
});

test('a node that was killed and lost its data comes back once its old session has ended', async () => {
  const [node] = cluster.nodes;
  const storeOf = (entry: string | undefined): unknown =>
    entry !== undefined && (JSON.parse(entry.slice(entry.indexOf('{'))) as { store: string }).store;
  const before = storeOf((await entriesOfNodes())[0]);
  await node.kill();
  node.wipe();
  await node.start();
  await eventually('it is registered', async () => ![false, before].includes(storeOf((await entriesOfNodes())[0])));
});
