import { LossyRequestStream } from '../../../shared/wire/streams/lossy-request-stream';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../../shared/wire/administration';
import type { ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';
import { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import { eventually } from '../eventually';

const ANSWER_MS = 20_000;

/** A replica of a shard and what it holds. */
export interface HeldReplica {
  node: string;
  shard: string;
  digest: ReplicaDigest;
}

/**
 * What the replicas of every shard hold, once those of a shard have all applied as much of its log; nothing may be
 * written meanwhile. Asks the nodes themselves, as coordinators ask them for their reports.
 */
export async function replicaDigests(nodes: { id: string; address: string }[], secret: string): Promise<HeldReplica[]> {
  const channels = new RpcChannels({ credentials: { secret, tls: null } });
  const streams = nodes.map(
    ({ address }) =>
      new LossyRequestStream<AdministrationRequest, WireReport>({
        address,
        method: administrationDefinition.Exchange as never,
        channels,
      }),
  );
  const ask = async (node: number, question: Omit<AdministrationRequest, 'id'>): Promise<WireReport> => {
    const answer = await streams[node].ask(question, ANSWER_MS);
    if (answer === null) throw new Error(`${nodes[node].id} gave no answer`);
    return answer;
  };
  let held: HeldReplica[] = [];
  const look = async (): Promise<boolean> => {
    held = [];
    for (const [i, { id }] of nodes.entries()) {
      for (const { collectionUid, shard } of (await ask(i, { probe: false, digestOf: null })).report?.shards ?? []) {
        const { digest } = await ask(i, { probe: false, digestOf: { collectionUid, shard } });
        if (digest !== null) held.push({ node: id, shard: `${collectionUid}/${shard}`, digest });
      }
    }
    return [...byShard(held).values()].every(
      (replicas) => new Set(replicas.map(({ digest }) => digest.appliedSequence)).size === 1,
    );
  };
  try {
    await eventually('the replicas of a shard have applied the same', () => look().catch(() => false));
    return held;
  } finally {
    for (const stream of streams) stream.close();
    channels.close();
  }
}

/** One sentence for each shard whose replicas do not hold the same. */
export function differencesOf(held: HeldReplica[]): string[] {
  return [...byShard(held)].flatMap(([shard, replicas]) => {
    const states = replicas.map(({ digest: { items, content, order, sessions } }) =>
      JSON.stringify({ items, content, order, sessions }),
    );
    if (new Set(states).size === 1) return [];
    return [
      `the replicas of ${shard} differ: ${replicas.map(({ node }, i) => `${node} holds ${states[i]}`).join(', ')}`,
    ];
  });
}

function byShard(held: HeldReplica[]): Map<string, HeldReplica[]> {
  const groups = new Map<string, HeldReplica[]>();
  for (const replica of held) groups.set(replica.shard, [...(groups.get(replica.shard) ?? []), replica]);
  return groups;
}
