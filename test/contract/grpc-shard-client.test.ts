import { GrpcShardClient } from '../../coordinator/cluster/grpc-shard-client';
import { shardServices } from '../../node/rpc/shard-service';
import { silentLogger } from '../../shared/logs/logger';
import { RpcServer } from '../../shared/rpc/rpc-server';
import { systemClock } from '../../shared/time/clock';
import { LocalNodeShards } from '../support/local-node-shards';
import { SettableRoutes } from '../support/settable-routes';
import { ShardNode, openMemoryStore, plainFactories } from '../support/shard-node';
import { type ClientUnderTest, describeShardClient } from './shard-client.contract';

async function overGrpc(): Promise<ClientUnderTest> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const credentials = { secret: 'contract', tls: null };
  const services = shardServices({ shards: new LocalNodeShards(node.client), clock: systemClock, logger: silentLogger });
  const server = new RpcServer({ services, ...credentials });
  const port = await server.listen('127.0.0.1:0');
  const client = new GrpcShardClient({
    routes: new SettableRoutes({ node: 'one', address: `127.0.0.1:${port}`, epoch: 1 }),
    placement: node.client,
    session: 'session',
    credentials,
    clock: systemClock,
  });
  const close = async (): Promise<void> => {
    client.close();
    await server.close(1_000);
    await node.destroy();
  };
  return { client, close };
}

describeShardClient('gRPC, to a node in this process', overGrpc);
