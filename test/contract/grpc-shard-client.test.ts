import { MessageChannel } from 'node:worker_threads';
import { GrpcShardClient } from '../../coordinator/cluster/grpc-shard-client';
import type { ShardRoutes } from '../../coordinator/cluster/shard-routes';
import { FrontRoutes, ToldRoutes } from '../../coordinator/threads/front-routes';
import { ThreadPeer } from '../../shared/threads/thread-peer';
import { shardServices } from '../../node/rpc/shard-service';
import { silentLogger } from '../../shared/logs/logger';
import { RpcServer } from '../../shared/rpc/rpc-server';
import { systemClock } from '../../shared/time/clock';
import { LocalNodeShards } from '../support/local-node-shards';
import { SettableRoutes } from '../support/settable-routes';
import { ShardNode, openMemoryStore, plainFactories } from '../support/shard-node';
import { type ClientUnderTest, describeShardClient } from './shard-client.contract';

type MakeRoutes = (routes: SettableRoutes) => { routes: ShardRoutes; close(): void };

async function overGrpc(routesOf: MakeRoutes): Promise<ClientUnderTest> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const credentials = { secret: 'contract', tls: null };
  const services = shardServices({ shards: new LocalNodeShards(node.client), clock: systemClock, logger: silentLogger });
  const server = new RpcServer({ services, ...credentials });
  const port = await server.listen('127.0.0.1:0');
  const { routes, close: closeRoutes } = routesOf(new SettableRoutes({ node: 'one', address: `127.0.0.1:${port}`, epoch: 1, versions: true }));
  const client = new GrpcShardClient({
    routes,
    placement: node.client,
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

/** The routes as a front thread has them, over a real channel whose two ends are here. */
function ofAnotherThread(routes: SettableRoutes): { routes: ShardRoutes; close(): void } {
  const { port1, port2 } = new MessageChannel();
  const told = new ToldRoutes({ routes, clock: systemClock });
  const main = new ThreadPeer(port1, told.handlers);
  told.follow(main);
  const thread = new ThreadPeer(port2, {});
  const front = new FrontRoutes({ main: thread, clock: systemClock });
  thread.handle(front.handlers);
  return { routes: front, close: () => port1.close() };
}

describeShardClient('gRPC, to a node in this process', () => overGrpc((routes) => ({ routes, close: () => undefined })));
describeShardClient('gRPC, by the routes of another thread', () => overGrpc(ofAnotherThread));
