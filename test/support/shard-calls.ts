import type { ShardClient } from '../../../shared/shard/shard-client';

/** The calls of a client of shards, some of which are to be replaced. */
export function callsOf(client: ShardClient): ShardClient {
  return {
    open: (spec) => client.open(spec),
    drop: (id) => client.drop(id),
    write: (id, operations, call) => client.write(id, operations, call),
    read: (id, kind, request, call) => client.read(id, kind, request, call),
  };
}
