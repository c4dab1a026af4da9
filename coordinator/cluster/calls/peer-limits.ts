import { QuiverError } from '../../../shared/base/errors/quiver-error';
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

export const peersDefinition = loadService<PeersDefinition>('quiver/v1/peers.proto', 'quiver.v1.Peers');

/** A request to be counted; with a revision, whether aliases are known; with a name, what it stands for. */
export type PeerRequest = { id: number; subject: string; aliasesRevision?: number; alias?: string };
export type PeerAnswer = { id: number; knownAlias?: WireAlias | null } & RateDecision;
type WireAlias = { held: boolean; revision: number; collection: string };

/** Says nothing but that it is an answer. */
const KNOWN: RateDecision = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };

/** Asks other coordinators to count requests of the subjects that they own. */
export class PeerLimits {
  private readonly addressOf: (coordinatorId: string) => string | undefined;
  private readonly channels: RpcChannels;
  private readonly streams = new Map<
    string,
    { address: string; stream: LossyRequestStream<PeerRequest, PeerAnswer> }
  >();

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

  private streamTo(coordinatorId: string, address: string): LossyRequestStream<PeerRequest, PeerAnswer> {
    const known = this.streams.get(coordinatorId);
    if (known?.address === address) return known.stream;
    known?.stream.close();
    const stream = new LossyRequestStream<PeerRequest, PeerAnswer>({
      address,
      method: peersDefinition.Exchange as never,
      channels: this.channels,
    });
    this.streams.set(coordinatorId, { address, stream });
    return stream;
  }
}

/** What other coordinators ask of aliases. */
export interface AskedAliases {
  /** Resolves when this process knows those as of a revision. */
  known(revision: number): Promise<void>;
  tell(name: string): { isHeld: boolean; revision: number; collection: string };
}

/** The service through which other coordinators ask this one. `aliases` null: it is not registered yet. */
export function peersService(parts: {
  limiter: SharedLimiter;
  aliases: () => AskedAliases | null;
  log: Logger;
}): RpcService {
  return new LossyRequestService<PeerRequest, PeerAnswer>({
    definition: peersDefinition,
    answer: async ({ subject, aliasesRevision = 0, alias = '' }) => {
      if (aliasesRevision === 0 && alias === '') return parts.limiter.admitForPeer(subject);
      const aliases = parts.aliases();
      if (aliases === null) throw new QuiverError('unavailable', 'this coordinator has only begun');
      if (alias !== '') {
        const { isHeld: held, ...known } = aliases.tell(alias);
        return { ...KNOWN, knownAlias: { held, ...known } };
      }
      await aliases.known(aliasesRevision);
      return KNOWN;
    },
    onError: (error) => parts.log.warn({ error }, 'a request of another coordinator could not be answered'),
  });
}
