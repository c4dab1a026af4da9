import type { Socket } from 'node:net';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import { addThreadMetrics } from '../../../shared/base/metrics/thread-metrics';
import type { ThreadTraceCounts } from '../../../shared/base/metrics/trace-metrics';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ClusterCredentials } from '../../../shared/wire/streams/rpc-channel';
import { ServingThreads } from '../../../shared/base/threads/serving-threads';
import {
  publishCertificates,
  type ThreadCredentials,
  threadCredentials,
} from '../../../shared/wire/handshake/thread-credentials';
import { logHandlers } from '../../../shared/base/threads/thread-log';
import type { Clock } from '../../../shared/base/time/clock';
import type { TraceCounts } from '../../../shared/base/trace/span';
import type { TraceOrigin } from '../../../shared/base/trace/trace-origin';
import { duplicateHandle } from '../../engine/kv/duplicate-handle';
import type { NodeShards } from '../../replication/node-shards';
import type { OperationObserver } from '../services/operation-observer';
import type { RunningLimit } from '../services/running-limit';
import { type OperationReport, readReport, type SearchCounts } from './operation-reports';
import { readHandlers } from './read-handlers';
import type { ReplicaPublisher } from './replica-publisher';

/** What a thread that answers reads is started with. */
export interface ReadThreadData {
  state: Int32Array;
  credentials: ThreadCredentials;
  /** The host:port by which other members know this node. */
  address: string;
  /** null: nothing is traced. */
  traces: TraceOrigin | null;
  /** What the node may hold of answers, what its threads hold of them (answer-bytes.ts), and the place of this one. */
  answerBytesMax: number;
  answerBytes: Float64Array;
  place: number;
}

export interface ReadThreadsParts {
  entry: string;
  threads: number;
  address: string;
  credentials: ClusterCredentials;
  replicas: ReplicaPublisher;
  shards: Pick<NodeShards, 'read'>;
  limit: RunningLimit;
  /** Of the node: the main thread's is the first of the numbers, those of the threads follow. */
  answerBytesMax: number;
  answerBytes: Float64Array;
  observer: OperationObserver;
  onSearches: (counts: SearchCounts) => void;
  traces: TraceOrigin | null;
  spans: ThreadTraceCounts;
  metrics: ProcessMetrics;
  clock: Clock;
  logger: Logger;
}

/** Nothing is kept of each but what all serving threads have. */
export type ReadThreads = ServingThreads<undefined>;

/** The threads of a storage node that answer reads (READ_THREADS), each on connections of its own. */
export async function startReadThreads(parts: ReadThreadsParts): Promise<ReadThreads> {
  const { credentials, address, observer, onSearches, spans, metrics, logger } = parts;
  // What the packages read comes as their environment, and nowhere else.
  const { variables = {}, ...rest } = parts.traces ?? {};
  const traces = parts.traces === null ? null : ({ ...rest, variables: {} } as TraceOrigin);
  const threads = new ServingThreads({
    task: 'answers reads',
    entry: parts.entry,
    threads: parts.threads,
    own: () => undefined,
    data: (state, thread): ReadThreadData => ({
      state,
      credentials: threadCredentials(credentials),
      address,
      traces,
      answerBytesMax: parts.answerBytesMax,
      answerBytes: parts.answerBytes,
      place: thread + 1,
    }),
    onEnded: (_thread, place) => (parts.answerBytes[place + 1] = 0),
    environment: variables,
    handlers: (thread) => ({
      ...readHandlers(parts),
      ...logHandlers(logger),
      report: (report: OperationReport) => readReport(report, { observer, onSearches }),
      'traces.counts': (counts: TraceCounts) => spans.take(thread().peer, counts),
    }),
    onStarted: (peer) => {
      const ends = [
        parts.replicas.follow((message) => peer.tell('replicas.published', message)),
        publishCertificates(credentials.tls, peer),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
    duplicateHandle,
    logger,
  });
  await threads.begin();
  metrics.beforeRead(() => threads.flush());
  addThreadMetrics(metrics, threads);
  return threads;
}

/** What takes the connections for these threads; none, as long as they are not there. */
export function dealerTo(threads: () => ReadThreads | null): (socket: Socket) => void {
  return (socket) => {
    const there = threads();
    if (there === null) socket.destroy();
    else there.deal(socket);
  };
}
