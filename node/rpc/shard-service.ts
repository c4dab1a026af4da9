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

/** The services by which coordinators reach a node's shards, for its RpcServer. */
export function shardServices(parts: {
  shards: NodeShards;
  clock: Clock;
  logger: Logger;
  runningReadsMax?: number;
  writeBytesMax?: number;
}): RpcService[] {
  const { shards, clock, logger } = parts;
  return [
    new ReadsService({ shards, clock, logger, runningMax: parts.runningReadsMax ?? RUNNING_READS_MAX }),
    new WritesService({ shards, clock, logger, bytesMax: parts.writeBytesMax ?? WRITE_BYTES_MAX }),
  ];
}
