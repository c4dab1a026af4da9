import { MessageChannel } from 'node:worker_threads';
import { RemoteShardClient, type ShardPlacement } from '../../coordinator/cluster/calls/remote-shard-client';
import type { ShardRoutes } from '../../coordinator/cluster/calls/shard-routes';
import { HttpThreadRoutes, RoutePublisher } from '../../coordinator/api/threads/http-thread-routes';
import { ThreadPeer } from '../../shared/base/threads/thread-peer';
import { shardServices, threadReads } from '../../node/hosting/services/shard-service';
import { silentLogger } from '../../shared/base/logs/logger';
import { OWN_VERSION, READ_THREADS } from '../../shared/base/process/member-version';
import { READS_WELCOME } from '../../shared/wire/frames/reads-greeting';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import type { Filter } from '../../shared/contract/filter/filter';
import type { VectorSearch } from '../../shared/contract/shard/shard-read';
import { systemClock } from '../../shared/base/time/clock';
import { eventually } from '../support/eventually';
import { isDated, operationsToBytes } from '../../shared/contract/writes/operation-codec';
import { LocalNodeShards } from '../support/cluster/local-node-shards';
import { clientTo, inTime, RpcNode } from '../support/cluster/rpc-node';
import { SettableRoutes } from '../support/cluster/settable-routes';
import { ShardNode, openMemoryStore, plainFactories } from '../support/shards/shard-node';
import { type ClientUnderTest, describeShardClient } from './shard-client.contract';

type MakeRoutes = (routes: SettableRoutes) => { routes: ShardRoutes; close(): void };

/** What a controller does with a shard of which there are no data yet. */
function placementOn(client: ShardNode['client']): ShardPlacement {
  return { open: (spec) => client.make(spec), drop: (id) => client.drop(id) };
}

async function overGrpc(routesOf: MakeRoutes): Promise<ClientUnderTest> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const credentials = { secret: 'contract', tls: null };
  const services = shardServices({
    shards: new LocalNodeShards(node.client),
    clock: systemClock,
    logger: silentLogger,
  });
  const server = new RpcServer({ services, ...credentials });
  const port = await server.listen('127.0.0.1:0');
  const { routes, close: closeRoutes } = routesOf(
    new SettableRoutes({ node: 'one', address: `127.0.0.1:${port}`, epoch: 1 }),
  );
  const client = new RemoteShardClient({
    routes,
    placement: placementOn(node.client),
    session: 'session',
    credentials,
    clock: systemClock,
  });
  const close = async (): Promise<void> => {
    client.close();
    closeRoutes();
    await server.close(1_000);
    await node.destroy();
  };
  return { client, close };
}

/** The routes as an HTTP thread has them, over a real channel whose two ends are here. */
function ofAnotherThread(routes: SettableRoutes): { routes: ShardRoutes; close(): void } {
  const { port1, port2 } = new MessageChannel();
  const told = new RoutePublisher({ routes, clock: systemClock });
  const main = new ThreadPeer(port1, told.handlers);
  told.follow(main);
  const thread = new ThreadPeer(port2, {});
  const front = new HttpThreadRoutes({ main: thread, clock: systemClock });
  thread.handle(front.handlers);
  return { routes: front, close: () => port1.close() };
}

/** Searches come over frames, as a thread of a node has them. */
async function overFrames(): Promise<ClientUnderTest> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const credentials = { secret: 'contract', tls: null };
  const shards = new LocalNodeShards(node.client);
  let address = '';
  let searches = 0;
  const observer = { done: () => void (searches += 1) };
  const reads = threadReads({ shards, clock: systemClock, logger: silentLogger, observer, tracer: null });
  const thread = new RpcServer({ services: [reads], ...credentials, addressOf: () => address });
  const accept = thread.framesAcceptor(reads.frames);
  const version = { ...OWN_VERSION, features: [...OWN_VERSION.features, READ_THREADS] };
  const server = new RpcServer({
    services: shardServices({ shards, clock: systemClock, logger: silentLogger }),
    ...credentials,
    version,
  });
  const port = await server.listenBeside('127.0.0.1:0', (socket) => {
    socket.setNoDelay(true);
    socket.write(READS_WELCOME);
    accept(socket);
  });
  address = `127.0.0.1:${port}`;
  const client = new RemoteShardClient({
    routes: new SettableRoutes({ node: 'one', address, epoch: 1 }),
    placement: placementOn(node.client),
    session: 'session',
    credentials,
    clock: systemClock,
  });
  // The first ones go the way that is there.
  const nowhere = { collectionUid: 'nowhere', shard: 0 };
  const search: VectorSearch = {
    vector: Float32Array.of(1),
    k: 1,
    filter: null,
    effort: { type: 'calibrated' },
    texts: false,
  };
  await eventually('searches come over frames', async () => {
    await client
      .read(nowhere, 'search', search, { deadlineMs: systemClock.monotonicMs() + 10_000 })
      .catch(() => undefined);
    return searches > 0;
  });
  const close = async (): Promise<void> => {
    client.close();
    await thread.close(1_000);
    await server.close(1_000);
    await node.destroy();
  };
  return { client, close };
}

describeShardClient('searches over frames, to a node in this process', overFrames);
describeShardClient('gRPC, to a node in this process', () =>
  overGrpc((routes) => ({ routes, close: () => undefined })),
);
describeShardClient('gRPC, by the routes of another thread', () => overGrpc(ofAnotherThread));

const ANY_TEXT: Filter = { type: 'text', path: 'a', test: 'prefix', pattern: 'x', fold: false };

test.each<[string, Filter]>([
  ['text-filters', { type: 'not', filter: ANY_TEXT }],
  ['text-filters', { type: 'element', path: 'a', of: 'members', filter: ANY_TEXT }],
  ['element-filters', { type: 'size', path: 'a', low: 1, high: 2 }],
  ['item-filters', { type: 'ids', ids: ['a'] }],
  ['word-filters', { type: 'words', query: 'a', match: 'any' }],
  ['updated-filter', { type: 'updated', low: 0, high: 1 }],
  ['geo-filters', { type: 'geo', path: 'a', shape: { kind: 'radius', lat: 0, lon: 0, metres: 1 } }],
])('without %s, %j is not sent to a node: not to read, and not in a write', async (feature, filter) => {
  const routes = new SettableRoutes({ node: 'one', address: '127.0.0.1:1', epoch: 1, lacking: [feature] });
  const placement: ShardPlacement = { open: () => Promise.resolve(), drop: () => Promise.resolve() };
  const client = new RemoteShardClient({
    routes,
    placement,
    session: 'session',
    credentials: { secret: 'contract', tls: null },
    clock: systemClock,
  });
  const shard = { collectionUid: 'c', shard: 0 };
  const call = { deadlineMs: systemClock.monotonicMs() + 60_000 };
  const refused = { kind: 'unavailable', message: expect.stringContaining('earlier version') as string };
  await expect(client.read(shard, 'matches', { filter }, call)).rejects.toMatchObject(refused);
  const questions = [{ filter, externalIds: null, parts: [] }];
  await expect(client.read(shard, 'aggregate', { questions }, call)).rejects.toMatchObject(refused);
  const order = { keys: [{ field: 'a', descending: false, missingFirst: false }], filter, after: null, limit: 1 };
  await expect(client.read(shard, 'order', order, call)).rejects.toMatchObject(refused);
  await expect(client.write(shard, [{ type: 'delete', externalId: 'a', filter }], call)).rejects.toMatchObject(refused);
  client.close();
});

test.each([
  ['keyword-plans', { plan: { units: [{ terms: [0], isOptional: true }], minimum: 1 } }],
  ['field-weights', { fieldWeights: [1, 0] }],
])('a keyword search is not sent to a node without the %s that it has', async (feature, asked) => {
  const routes = new SettableRoutes({ node: 'one', address: '127.0.0.1:1', epoch: 1, lacking: [feature] });
  const client = new RemoteShardClient({
    routes,
    placement: { open: () => Promise.resolve(), drop: () => Promise.resolve() },
    session: 'session',
    credentials: { secret: 'contract', tls: null },
    clock: systemClock,
  });
  const search = {
    terms: ['a'],
    statistics: { documentCount: 1, totalLength: 1, documentFrequencies: [1] },
    ...asked,
    k: 1,
    filter: null,
  };
  const call = { deadlineMs: systemClock.monotonicMs() + 60_000 };
  await expect(client.read({ collectionUid: 'c', shard: 0 }, 'keywordSearch', search, call)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(`does not know ${feature}`) as string,
  });
  client.close();
});

test('an encoded write is sent as it is; its memory is free unless it was sent again', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const shards = new LocalNodeShards(node.client);
  const server = await RpcNode.start(shards);
  const { client, routes } = clientTo(server.address);
  const id = { collectionUid: 'encoded', shard: 0 };
  await node.client.make({ ...id, dim: 2, metric: 'l2' });
  const bytes = operationsToBytes(
    ['a', 'b'].map((externalId, i) => ({
      type: 'upsert',
      externalId,
      vector: Float32Array.of(i, 2),
      stamp: 1 + i,
      metadata: undefined,
      text: undefined,
    })),
  );
  const first = await client.writeEncoded(id, bytes, inTime());
  expect(first).toMatchObject({ result: { outcomes: ['inserted', 'inserted'] }, isShared: false });
  expect(first.bytes).toBe(bytes);
  expect(isDated(bytes)).toBe(true);
  // The node has another epoch by now, of which the client hears when it is refused.
  shards.epoch = 2;
  const again = client.writeEncoded(id, bytes, inTime());
  await eventually('the write came', async () => server.frames.received >= 2);
  routes.set({ node: 'node', address: server.address, epoch: 2 });
  expect(await again).toMatchObject({ result: { outcomes: ['updated', 'updated'] }, isShared: true });
  // Changes get times where every node knows what that means.
  routes.set({ node: 'node', address: server.address, epoch: 2, lacking: ['updated-filter'] });
  await client.writeEncoded(id, bytes, inTime());
  expect(isDated(bytes)).toBe(false);
  const fetched = await client.read(id, 'fetch', { externalIds: ['a', 'b'], vectors: true }, inTime());
  expect(fetched.map((item) => [...item!.vector!])).toEqual([
    [0, 2],
    [1, 2],
  ]);
  client.close();
  await server.close(1_000);
  await node.destroy();
});
