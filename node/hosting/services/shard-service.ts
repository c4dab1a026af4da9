import type { Logger } from '../../../shared/base/logs/logger';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import type { Clock } from '../../../shared/base/time/clock';
import type { Tracer } from '../../../shared/base/trace/span';
import { AnswerBytes } from './answer-bytes';
import type { NodeShards, ReadShards } from '../../replication/node-shards';
import { NO_OPERATION_OBSERVER, type OperationObserver } from './operation-observer';
import { ReadsService } from './reads-service';
import { RunningLimit } from './running-limit';
import { WritesService } from './writes-service';

/** Reads that run at once on a node: far more than its threads can do, so only a flood is refused. */
const RUNNING_READS_MAX = 4_096;

/** Payloads of writes in a node's memory at once: some of the largest, or thousands of usual ones. */
const WRITE_BYTES_MAX = 512 * 1024 * 1024;

/** What answers may hold where nobody says how much memory there is. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** Far longer than a pause of a coordinator's event loop; a reader that is so late has given up its requests anyway. */
const STALL_MS = 10_000;

/** What runs at once on a node, counted over all streams. */
export interface NodeLimits {
  reads: RunningLimit;
  writeBytes: RunningLimit;
  answers: AnswerBytes;
}

export function nodeLimits(
  options: { runningReadsMax?: number; writeBytesMax?: number; answers?: AnswerBytes } = {},
): NodeLimits {
  return {
    reads: new RunningLimit(options.runningReadsMax ?? RUNNING_READS_MAX, 'reads'),
    writeBytes: new RunningLimit(options.writeBytesMax ?? WRITE_BYTES_MAX, 'bytes of writes'),
    answers: options.answers ?? new AnswerBytes({ bytesMax: ANSWER_BYTES_MAX }),
  };
}

/**
 * The service of reads on a thread of a node, with a bound of its own on what waits for the thread. The main thread
 * counts what is passed on to it; `answers` is shared.
 */
export function threadReads(parts: {
  shards: ReadShards;
  clock: Clock;
  logger: Logger;
  observer: OperationObserver;
  tracer: Tracer | null;
  answers?: AnswerBytes;
}): ReadsService {
  const limits = nodeLimits(parts);
  return new ReadsService({ ...parts, stallMs: STALL_MS, limit: limits.reads, answers: limits.answers });
}

/** The services through which coordinators reach a node's shards, for its RpcServer. */
export function shardServices(parts: {
  shards: NodeShards;
  clock: Clock;
  logger: Logger;
  /** Default: {@link nodeLimits}. */
  limits?: NodeLimits;
  stallMs?: number;
  observer?: OperationObserver;
  /** Default: nothing is traced. */
  tracer?: Tracer | null;
}): RpcService[] {
  const { shards, limits = nodeLimits() } = parts;
  const { clock, logger, stallMs = STALL_MS, observer = NO_OPERATION_OBSERVER, tracer = null } = parts;
  const common = { shards, clock, logger, stallMs, observer, tracer };
  return [
    new ReadsService({ ...common, limit: limits.reads, answers: limits.answers }),
    new WritesService({ ...common, limit: limits.writeBytes }),
  ];
}
