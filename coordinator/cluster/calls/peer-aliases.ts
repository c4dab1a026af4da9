import { LossyRequestStream } from '../../../shared/wire/streams/lossy-request-stream';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import type { HeardAlias } from '../../service/aliases/stored-aliases';
import { type PeerAnswer, type PeerRequest, peersDefinition } from './peer-limits';

/** Asks other coordinators whether they know aliases. */
export class PeerAliases {
  private readonly streams = new Map<string, LossyRequestStream<PeerRequest, PeerAnswer>>();

  constructor(private readonly channels: RpcChannels) {}

  /** Whether the coordinator at this address says within the time that it knows them as of this revision. */
  async know(address: string, revision: number, timeoutMs: number): Promise<boolean> {
    return (await this.streamTo(address).ask({ subject: '', aliasesRevision: revision }, timeoutMs)) !== null;
  }

  /** What the coordinator at this address knows of a name; null: it does not answer in time. */
  async ask(address: string, name: string, timeoutMs: number): Promise<HeardAlias | null> {
    const answer = await this.streamTo(address).ask({ subject: '', alias: name }, timeoutMs);
    if (!answer?.knownAlias) return null;
    const { held, revision, collection } = answer.knownAlias;
    return { isHeld: held, revision, collection };
  }

  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.streams.clear();
  }

  /** Closes the streams to others than these. */
  keep(addresses: ReadonlySet<string>): void {
    for (const [address, stream] of this.streams) {
      if (addresses.has(address)) continue;
      stream.close();
      this.streams.delete(address);
    }
  }

  private streamTo(address: string): LossyRequestStream<PeerRequest, PeerAnswer> {
    let stream = this.streams.get(address);
    if (stream === undefined) {
      stream = new LossyRequestStream({
        address,
        method: peersDefinition.Exchange as never,
        channels: this.channels,
      });
      this.streams.set(address, stream);
    }
    return stream;
  }
}
