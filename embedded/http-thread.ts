import { parentPort, workerData } from 'node:worker_threads';
import { serveHttpThread, type HttpThreadData } from '../coordinator/api/threads/http-thread';
import { HttpThreadShards } from '../coordinator/api/threads/http-thread-shards';
import { ShardViews } from '../node/engine/shard/reading/shard-views';
import { systemClock } from '../shared/base/time/clock';

/**
 * A worker thread that serves the API of the embedded form, and searches the shards in the memory that it shares with
 * the main thread.
 */

const views = new ShardViews();
serveHttpThread({
  port: parentPort!,
  data: workerData as HttpThreadData,
  form: (main) => ({
    shards: new HttpThreadShards({ main, inline: views, clock: systemClock }),
    handlers: { 'shards.published': (message: unknown) => views.take(message) },
  }),
});
