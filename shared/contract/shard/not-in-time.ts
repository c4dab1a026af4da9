import { QuiverError } from '../../base/errors/quiver-error';
import type { ShardId } from './shard-client';

/** The time of a read was over before its shard had answered. */
export function notInTime({ shard }: Pick<ShardId, 'shard'>): QuiverError {
  return new QuiverError('unavailable', `shard ${shard} did not answer in time; the call may be retried`);
}
