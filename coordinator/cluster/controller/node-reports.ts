import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../../shared/wire/administration';
import type { NodeReport, ReplicaReport } from '../../../shared/cluster-store/entries/node-report';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { ClusterMap } from '../cluster-map';
import { LossyRequestStream } from '../../../shared/wire/streams/lossy-request-stream';

/** A node that takes longer is shown without the facts that only it knows. */
const TIMEOUT_MS = 2_000;

/** Asks a node for its report; null when it does not answer in time. */
export type AskNode = (address: string) => Promise<NodeReport | null>;

/** The reports of all registered nodes that answer, by node. */
export async function reportsOf(map: ClusterMap, askNode: AskNode): Promise<Map<string, NodeReport>> {
  const members = map.nodes.all().map(({ value }) => value);
  const answers = await Promise.all(members.map(({ address }) => askNode(address)));
  return new Map(members.flatMap(({ id }, i) => (answers[i] === null ? [] : [[id, answers[i]]])));
}

/** What each node that answered says of its replica of a shard; null: none is open there. */
export function repliesOn(shard: ShardId, reports: ReadonlyMap<string, NodeReport>): Map<string, ReplicaReport | null> {
  const isOfShard = (one: ReplicaReport): boolean =>
    one.collectionUid === shard.collectionUid && one.shard === shard.shard;
  return new Map([...reports].map(([node, { shards }]) => [node, shards.find(isOfShard) ?? null]));
}

/** Asks nodes for their reports. */
export class NodeReports {
  private readonly channels: RpcChannels;
  private readonly streams = new Map<string, LossyRequestStream<AdministrationRequest, WireReport>>();

  constructor(options: { channels: RpcChannels }) {
    this.channels = options.channels;
  }

  /** null when the node does not answer in time. */
  async ask(address: string): Promise<NodeReport | null> {
    const answer = await this.streamTo(address).ask({ probe: false, digestOf: null }, TIMEOUT_MS);
    if (answer === null || answer.report === null) return null;
    return {
      shards: answer.report.shards.map(({ leads, ...rest }) => ({ ...rest, role: leads ? 'primary' : 'follower' })),
    };
  }

  /** Whether the node answers at all; costs almost nothing. */
  async probe(address: string): Promise<boolean> {
    return (await this.streamTo(address).ask({ probe: true, digestOf: null }, TIMEOUT_MS)) !== null;
  }

  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.streams.clear();
  }

  private streamTo(address: string): LossyRequestStream<AdministrationRequest, WireReport> {
    let stream = this.streams.get(address);
    if (stream === undefined) {
      stream = new LossyRequestStream({
        address,
        method: administrationDefinition.Exchange as never,
        channels: this.channels,
      });
      this.streams.set(address, stream);
    }
    return stream;
  }
}
