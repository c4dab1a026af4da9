import {
  administrationDefinition,
  type Replacement,
  type AdministrationRequest,
  type WireReport,
} from '../../../shared/wire/administration';
import type { ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';
import { LossyRequestStream } from '../../../shared/wire/streams/lossy-request-stream';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import { purgesFromText, type ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import type { ShardId } from '../../../shared/contract/shard/shard-client';

/** A digest takes as long as the other node's pace makes it; one of a terabyte is not waited for. */
const DIGEST_MS = 24 * 3_600_000;
const REPLACE_MS = 10_000;
/** The node only begins. */
const OPTIMIZE_MS = 10_000;

/** What a primary asks the nodes of its followers. Where there is no answer, it is as if they had refused. */
export class ReplicaRequests {
  private readonly streams = new Map<string, LossyRequestStream<AdministrationRequest, WireReport>>();

  /** `addressOf`: host:port of a node; null if it is unknown. */
  constructor(private readonly parts: { addressOf: (node: string) => string | null; channels: RpcChannels }) {}

  /**
   * The digest of the node's replica after exactly this entry; null if it has passed it, or does not get there soon.
   */
  async digestAt(node: string, shard: ShardId, atSequence: number): Promise<ReplicaDigest | null> {
    const answer = await this.streamTo(node)?.ask({ probe: false, digestOf: shard, atSequence }, DIGEST_MS);
    return answer?.digest ?? null;
  }

  /** Whether the node begins its replica again. */
  async replace(node: string, replace: Replacement): Promise<boolean> {
    const answer = await this.streamTo(node)?.ask({ probe: false, digestOf: null, replace }, REPLACE_MS);
    return answer?.replaced === true;
  }

  /** Has the node make the best index of its replica. */
  async optimize(node: string, shard: ShardId): Promise<void> {
    await this.streamTo(node)?.ask({ probe: false, digestOf: null, optimize: shard }, OPTIMIZE_MS);
  }

  /** How far the purge of the node's replica is; null: it does not say. */
  async purge(node: string, shard: ShardId, start: boolean): Promise<ReplicaPurge | null> {
    const answer = await this.streamTo(node)?.ask(
      { probe: false, digestOf: null, purge: shard, purgeStart: start },
      OPTIMIZE_MS,
    );
    const [purge = null] = answer?.purge ? (purgesFromText(answer.purge) ?? []) : [];
    return purge;
  }

  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.streams.clear();
  }

  private streamTo(node: string): LossyRequestStream<AdministrationRequest, WireReport> | null {
    const address = this.parts.addressOf(node);
    if (address === null) return null;
    let stream = this.streams.get(address);
    if (stream === undefined) {
      stream = new LossyRequestStream({
        address,
        method: administrationDefinition.Exchange as never,
        channels: this.parts.channels,
      });
      this.streams.set(address, stream);
    }
    return stream;
  }
}
