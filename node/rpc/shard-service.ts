import type { Logger } from '../../shared/logs/logger';
import type { RpcService } from '../../shared/rpc/rpc-server';
import type { Clock } from '../../shared/time/clock';
import type { NodeShards } from './node-shards';
import { ReadsService } from './reads-service';
import { WritesService } from './writes-service';

/** Reads that run at once on a node: far beyond what its threads can do, so only a flood is refused. */
const RUNNING_READS_MAX = 4_096;

/** Payloads of writes in a node's memory at once: some of the largest, or thousands of usual ones. */
const WRITE_BYTES_MAX = 512 * 1024 * 1024;

/** Far beyond a pause of a coordinator's event loop; a reader so late has given up its requests anyway. */
const STALL_MS = 10_000;

/** The services by which coordinators reach a node's shards, for its RpcServer. */
export function shardServices(parts: {
  shards: NodeShards;
  clock: Clock;
  logger: Logger;
  runningReadsMax?: number;
  writeBytesMax?: number;
  stallMs?: number;
}): RpcService[] {
  const { shards, clock, logger, stallMs = STALL_MS } = parts;
  return [
    new ReadsService({ shards, clock, logger, runningMax: parts.runningReadsMax ?? RUNNING_READS_MAX, stallMs }),
    new WritesService({ shards, clock, logger, bytesMax: parts.writeBytesMax ?? WRITE_BYTES_MAX, stallMs }),
  ];
}
