import type { RemoteShardClient } from '../../coordinator/cluster/calls/remote-shard-client';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { WriteOperation } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { BEYOND_MS, RpcNode, SHARD, clientTo, inTime, within } from '../support/cluster/rpc-node';
import { ScriptedNodeShards } from '../support/cluster/scripted-node-shards';
import { FlowProxy } from '../support/servers/flow-proxy';

/** What coordinators and nodes make of connections that break, stall and move. */

const A_WRITE: WriteOperation[] = [
  { type: 'upsert', externalId: 'a', vector: Float32Array.of(1, 2), stamp: 1, metadata: undefined, text: undefined },
];

let shards: ScriptedNodeShards;
let node: RpcNode;
let proxy: FlowProxy;
let opened: RemoteShardClient[];

beforeEach(async () => {
  shards = new ScriptedNodeShards();
  node = await RpcNode.start(shards);
  proxy = await FlowProxy.start(node.port);
  opened = [];
});
afterEach(async () => {
  for (const client of opened) client.close();
  await proxy.close();
  await node.close();
});

function connect(address: string, options: Parameters<typeof clientTo>[1] = {}) {
  node.knownAs = address;
  const made = clientTo(address, options);
  opened.push(made.client);
  return made;
}

/** Calls of the node wait from now on, until released. */
function holdCalls(): () => void {
  let release: () => void = () => undefined;
  const held = new Promise<void>((done) => (release = done));
  shards.before = () => held;
  return () => {
    shards.before = async () => undefined;
    release();
  };
}

async function searchOnce(client: RemoteShardClient, patienceMs = BEYOND_MS): Promise<number> {
  const request = {
    vector: Float32Array.of(1, 2),
    k: 3,
    filter: null,
    effort: { type: 'calibrated' as const },
    texts: false,
  };
  return (await client.read(SHARD, 'search', request, within(patienceMs))).hits.length;
}

describe('a connection that breaks', () => {
  test('reads in flight are answered over the next one', async () => {
    const { client } = connect(proxy.address);
    const release = holdCalls();
    const reads = Promise.all(Array.from({ length: 20 }, () => searchOnce(client)));
    await eventually('the reads arrive', () => shards.reads === 20);
    const { connections } = proxy;
    proxy.cut();
    await eventually('the reads arrive again', () => shards.reads === 40);
    release();
    expect(await reads).toEqual(Array.from({ length: 20 }, () => 0));
    expect(proxy.connections).toBe(connections + 1);
  });

  test('a write in flight is sent again under its name and applied once', async () => {
    const { client } = connect(proxy.address);
    expect(await client.write(SHARD, A_WRITE, inTime())).toMatchObject({ outcomes: ['inserted'] });
    proxy.holdAnswers();
    const write = client.write(SHARD, A_WRITE, inTime());
    await eventually('the write is applied', () => shards.applied.length === 2);
    proxy.cut();
    expect((await write).outcomes).toEqual(['inserted']);
    expect(shards.applied).toHaveLength(2);
    expect(shards.sources.map((source) => source.requestNumber)).toEqual([1, 2, 2]);
  });

  test('a write is told unknown when no answer comes by its deadline, and settles for those after it', async () => {
    const { client } = connect(proxy.address);
    // Its deadline is for the answer, not for the connection.
    await searchOnce(client);
    const release = holdCalls();
    const write = client.write(SHARD, A_WRITE, within(1_500));
    await expect(write).rejects.toMatchObject({ kind: 'commit_unknown' });
    release();
    await client.write(SHARD, A_WRITE, inTime());
    expect(shards.sources.at(-1)).toMatchObject({ requestNumber: 2, settledBelow: 2 });
  });

  test('writes that overlap keep each other unsettled', async () => {
    const { client } = connect(node.address);
    const release = holdCalls();
    const writes = [client.write(SHARD, A_WRITE, inTime()), client.write(SHARD, A_WRITE, inTime())];
    await eventually('both arrive', () => shards.sources.length === 2);
    expect(shards.sources).toMatchObject([
      { requestNumber: 1, settledBelow: 1 },
      { requestNumber: 2, settledBelow: 1 },
    ]);
    release();
    await Promise.all(writes);
    await client.write({ ...SHARD, shard: 1 }, A_WRITE, inTime());
    expect(shards.sources[2]).toMatchObject({ requestNumber: 3, settledBelow: 3 });
  });

  test('while nobody listens, reads wait for their time and writes were never sent', async () => {
    await node.close();
    const { client } = connect(node.address, { readRetryMs: 400 });
    const [read, hurriedRead, write] = await Promise.allSettled([
      searchOnce(client),
      searchOnce(client, 200),
      client.write(SHARD, A_WRITE, within(500)),
    ]);
    for (const outcome of [read, hurriedRead, write])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } });
  });

  test('calls wait for a node that comes back', async () => {
    await node.close();
    const { client } = connect(node.address);
    const calls = Promise.all([searchOnce(client), client.write(SHARD, A_WRITE, inTime())]);
    await node.listen();
    expect(await calls).toMatchObject([0, { outcomes: ['inserted'] }]);
  });
});

describe('a connection that goes silent', () => {
  test('calls fail at their deadlines, and the connection is replaced', async () => {
    const { client } = connect(proxy.address);
    await searchOnce(client);
    proxy.freeze();
    const hurried = expect(searchOnce(client, 300)).rejects.toMatchObject({ kind: 'unavailable' });
    const patient = searchOnce(client);
    await hurried;
    expect(await patient).toBe(0);
    // More, if a busy machine takes too long over one.
    expect(proxy.connections).toBeGreaterThan(1);
  });

  test('a node that accepts and says nothing is given up, too', async () => {
    proxy.holdAnswers();
    const { client, ended } = connect(proxy.address);
    const read = searchOnce(client);
    expect(await read).toBe(0);
    expect(ended.join()).toContain('did not take the connection in time');
  });
});

describe('a shard that moves', () => {
  test('calls sent away wait for the new route and go there', async () => {
    const { client, routes } = connect(node.address);
    const elsewhere = new ScriptedNodeShards();
    const other = await RpcNode.start(elsewhere);
    let sentAway = 0;
    shards.before = async () => {
      sentAway += 1;
      throw new QuiverError('misrouted', 'the shard is led elsewhere');
    };
    const calls = Promise.all([searchOnce(client), client.write(SHARD, A_WRITE, inTime())]);
    await eventually('both are sent away', () => sentAway === 2);
    routes.set({ node: 'other', address: other.address, epoch: 2 });
    expect(await calls).toMatchObject([0, { outcomes: ['inserted'] }]);
    expect(sentAway).toBe(2);
    expect(elsewhere.applied).toHaveLength(1);
    await other.close();
  });

  test('calls wait for a shard without a primary, until their deadlines', async () => {
    const { client, routes } = connect(node.address);
    routes.set(null);
    await expect(searchOnce(client, 100)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(client.write(SHARD, A_WRITE, within(100))).rejects.toMatchObject({ kind: 'unavailable' });
    const read = searchOnce(client);
    routes.set({ node: 'node', address: node.address, epoch: 2 });
    expect(await read).toBe(0);
  });

  test('reads leave a node that is gone as soon as the route does', async () => {
    const other = await RpcNode.start(new ScriptedNodeShards());
    await node.close();
    const { client, routes } = connect(node.address);
    const read = searchOnce(client);
    routes.set({ node: 'other', address: other.address, epoch: 2 });
    expect(await read).toBe(0);
    await other.close();
  });
});

describe('a node that stops', () => {
  test('answers what it has taken, then ends; what comes later goes to its successor', async () => {
    const { client } = connect(node.address);
    const release = holdCalls();
    const reads = Promise.all(Array.from({ length: 10 }, () => searchOnce(client)));
    const write = client.write(SHARD, A_WRITE, inTime());
    await eventually('all have arrived', () => shards.reads === 10 && shards.sources.length === 1);
    const closed = node.close(10_000);
    release();
    await Promise.all([reads, write, closed]);
    expect(shards.reads).toBe(10);
    expect(shards.applied).toHaveLength(1);
    await node.listen();
    expect(await searchOnce(client)).toBe(0);
  });

  test('does not wait for calls that never end', async () => {
    const { client } = connect(node.address, { readRetryMs: 400 });
    holdCalls();
    const read = searchOnce(client);
    const outcome = expect(read).rejects.toMatchObject({ kind: 'unavailable' });
    await eventually('it has arrived', () => shards.reads === 1);
    await node.close(200);
    await outcome;
  });
});

test('a closed client fails its calls and holds no connection', async () => {
  const { client, ended } = connect(node.address);
  holdCalls();
  const calls = [searchOnce(client), client.write(SHARD, A_WRITE, inTime())];
  const outcomes = Promise.allSettled(calls);
  await eventually('both have arrived', () => shards.reads + shards.sources.length === 2);
  client.close();
  expect(await outcomes).toMatchObject([{ reason: { kind: 'unavailable' } }, { reason: { kind: 'commit_unknown' } }]);
  await expect(searchOnce(client)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(ended).toEqual([]);
});
