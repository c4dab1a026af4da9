import type { Logger } from '../../../shared/base/logs/logger';
import type { PeersDefinition } from '../../../shared/wire/generated/quiver/v1/peers';
import { loadService } from '../../../shared/wire/streams/protocol';
import { LossyRequestService } from '../../../shared/wire/streams/lossy-request-service';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import type { RateDecision } from '../../service/limits/rate-limiter';
import type { SharedLimiter } from '../../service/limits/shared-limiter';
import { LossyRequestStream } from '../../../shared/wire/streams/lossy-request-stream';

/** A request must not wait long for another coordinator to count it. */
const TIMEOUT_MS = 250;

const definition = loadService<PeersDefinition>('quiver/v1/peers.proto', 'quiver.v1.Peers');

type Request = { id: number; subject: string };
type Answer = { id: number } & RateDecision;

/** Asks other coordinators to count requests of the subjects that they own. */
export class PeerLimits {
  private readonly addressOf: (coordinatorId: string) => string | undefined;
  private readonly channels: RpcChannels;
  private readonly streams = new Map<string, { address: string; stream: LossyRequestStream<Request, Answer> }>();

  /** `addressOf`: where a coordinator's service for other coordinators is, if it is a member. */
  constructor(options: { addressOf: (coordinatorId: string) => string | undefined; channels: RpcChannels }) {
    this.addressOf = options.addressOf;
    this.channels = options.channels;
  }

  /** null when the coordinator can't be reached in time. */
  async ask(coordinatorId: string, subject: string): Promise<RateDecision | null> {
    const address = this.addressOf(coordinatorId);
    if (address === undefined) return null;
    const answer = await this.streamTo(coordinatorId, address).ask({ subject }, TIMEOUT_MS);
    if (answer === null) return null;
    const { allowed, limit, remaining, resetSeconds } = answer;
    return { allowed, limit, remaining, resetSeconds };
  }

  close(): void {
    for (const { stream } of this.streams.values()) stream.close();
    this.streams.clear();
  }

  private streamTo(coordinatorId: string, address: string): LossyRequestStream<Request, Answer> {
    const known = this.streams.get(coordinatorId);
    if (known?.address === address) return known.stream;
    known?.stream.close();
    const stream = new LossyRequestStream<Request, Answer>({
      address,
      method: definition.Exchange as never,
      channels: this.channels,
    });
    this.streams.set(coordinatorId, { address, stream });
    return stream;
  }
}

/** The service through which other coordinators ask this one to count. */
export function peersService(parts: { limiter: SharedLimiter; log: Logger }): RpcService {
  return new LossyRequestService<Request, Answer>({
    definition,
    answer: async ({ subject }) => parts.limiter.admitForPeer(subject),
    onError: (error) => parts.log.warn({ error }, 'a request could not be counted'),
  });
}
