import { parentPort, workerData } from 'node:worker_threads';
import { READS_WELCOME } from '../shared/wire/frames/reads-greeting';
import { RpcServer } from '../shared/wire/streams/rpc-server';
import { credentialsOfThread } from '../shared/wire/handshake/thread-credentials';
import { threadLog } from '../shared/base/threads/thread-log';
import { ThreadPeer } from '../shared/base/threads/thread-peer';
import { ReadRoom } from '../shared/base/threads/read-room';
import { endThread, takenConnection } from '../shared/base/threads/taken-connection';
import { THREAD_BEAT_MS, THREAD_STATE } from '../shared/base/threads/thread-state';
import { systemClock } from '../shared/base/time/clock';
import { openTracer } from '../shared/base/trace/open-tracer';
import { AnswerBytes } from './hosting/services/answer-bytes';
import { threadReads } from './hosting/services/shard-service';
import { OperationReports } from './hosting/threads/operation-reports';
import { permitClocks } from './hosting/threads/permit-clocks';
import type { ReadThreadData } from './hosting/threads/read-threads';
import { ReplicaViews } from './hosting/threads/replica-views';
import { ThreadShards } from './hosting/threads/thread-shards';

/**
 * A worker thread of a storage node: it answers the reads of coordinators, on connections that the main thread hands
 * over.
 */

const data = workerData as ReadThreadData;
const { state, address, traces } = data;
const clock = systemClock;
const main = new ThreadPeer(parentPort!, {
  connection: (handle: number) => take(handle),
  'replicas.published': (message: unknown) => views.take(message),
  flush: () => {
    reportSpans();
    reports.flush();
  },
  end: endThread,
  close: async (graceMs: number) => {
    await server.close(graceMs);
    clearInterval(beat);
    await tracer?.close();
    reportSpans();
    reports.close();
  },
});
const log = threadLog(main);
const { credentials, handlers } = credentialsOfThread(data.credentials, log);
main.handle(handlers);
const views = new ReplicaViews(permitClocks);
const reports = new OperationReports((report) => main.tell('report', report));
const tracer = traces === null ? null : openTracer({ origin: traces, clock, log });
const reportSpans = (): void => {
  if (tracer !== null) main.tell('traces.counts', { ...tracer.counts });
};
const shards = new ThreadShards({ main, views, clock, searched: (by) => reports.searched(by) });
const service = threadReads({
  shards,
  clock,
  logger: log,
  observer: reports,
  tracer,
  answers: new AnswerBytes({ bytesMax: data.answerBytesMax, shared: data.answerBytes, place: data.place }),
});
const server = new RpcServer({ services: [service], ...credentials, addressOf: () => address });
const accept = server.framesAcceptor(service.frames);
const beat = setInterval(() => Atomics.add(state, THREAD_STATE.beat, 1), THREAD_BEAT_MS);

/** What TLS reads, it reads by itself. */
const room = data.credentials.tls === null ? new ReadRoom() : undefined;

function take(handle: number): void {
  const socket = takenConnection(state, handle, { room });
  if (socket === null) return;
  socket.on('error', () => undefined);
  socket.setNoDelay(true);
  socket.write(READS_WELCOME);
  accept(socket);
}

main.tell('ready');
