import type { ShardClient } from '../../../shared/contract/shard/shard-client';

/** What is done instead of a read, or a write, that `run` makes. */
type Around = <Result>(run: () => Promise<Result>, isWrite: boolean) => Promise<Result>;

/** The calls of a client of shards, some of which are to be replaced; reads and writes go through `around`. */
export function callsOf(client: ShardClient, around: Around = (run) => run()): ShardClient {
  return {
    make: (spec) => client.make(spec),
    open: (spec) => client.open(spec),
    drop: (id) => client.drop(id),
    write: (id, operations, call) => around(() => client.write(id, operations, call), true),
    read: (id, kind, request, call) => around(() => client.read(id, kind, request, call), false),
  };
}
