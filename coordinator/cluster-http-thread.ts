import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { RpcChannels } from '../shared/wire/streams/rpc-channels';
import { systemClock } from '../shared/base/time/clock';
import { RemoteShardClient, type ShardPlacement } from './cluster/calls/remote-shard-client';
import { credentialsOfThread, type ThreadCredentials } from '../shared/wire/handshake/thread-credentials';
import { HttpThreadCoordinators } from './api/threads/http-thread-coordinators';
import { HttpThreadDeepReads } from './api/threads/http-thread-deep-reads';
import { HttpThreadRoutes } from './api/threads/http-thread-routes';
import { threadLog } from '../shared/base/threads/thread-log';
import { serveHttpThread, type HttpThreadData } from './api/threads/http-thread';
import { remote } from '../shared/base/threads/thread-peer';

/** A worker thread that serves the API of a coordinator, over connections of its own to the storage nodes. */

/** What it is started with besides HttpThreadData. */
export interface ClusterThreadData {
  memberId: string;
  credentials: ThreadCredentials;
}

const data = workerData as HttpThreadData & ClusterThreadData;
const clock = systemClock;

serveHttpThread({
  port: parentPort!,
  data,
  form: (main) => {
    const log = threadLog(main);
    const { credentials, handlers } = credentialsOfThread(data.credentials, log);
    const channels = new RpcChannels({ credentials });
    const routes = new HttpThreadRoutes({ main, clock });
    const shards = new RemoteShardClient({
      routes,
      placement: remote<ShardPlacement>(main, 'placement'),
      // Nodes remember the writes of each session, so no two threads may share one.
      session: randomUUID(),
      credentials,
      clock,
      linkEnded: (address, end) => log.debug({ address, reason: end.reason }, 'the connection to a node ended'),
    });
    const coordinators = new HttpThreadCoordinators({
      ownId: data.memberId,
      limit: data.config.rateLimitPerMinute,
      channels,
    });
    return {
      shards,
      deep: new HttpThreadDeepReads({ main, clock }),
      limiterAround: (local) => coordinators.limiterAround(local),
      handlers: { ...handlers, ...routes.handlers, ...coordinators.handlers },
      nodeCalls: () => shards.load,
      close: () => {
        shards.close();
        coordinators.close();
        channels.close();
      },
    };
  },
});
