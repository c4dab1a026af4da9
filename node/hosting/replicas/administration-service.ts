import {
  administrationDefinition,
  type Replacement,
  type AdministrationRequest,
  type WireReport,
} from '../../../shared/wire/administration';
import type { NodeReport, ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { LossyRequestService } from '../../../shared/wire/streams/lossy-request-service';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import { purgesToText, type ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import type { ShardId } from '../../../shared/contract/shard/shard-client';

interface AdministrationParts {
  report: () => Promise<NodeReport>;
  /**
   * The digest of a replica, as it is after the entry `atSequence` unless that is 0; null where there is none. `ended`:
   * whoever asked is gone.
   */
  digest: (id: ShardId, atSequence: number, ended: AbortSignal) => Promise<ReplicaDigest | null>;
  /** Makes the best index of a replica, if there is one. */
  optimize: (id: ShardId) => Promise<void>;
  /** How far the purge of a replica is; null: there is none here. */
  purge: (id: ShardId, start: boolean) => Promise<ReplicaPurge[] | null>;
  /** Whether the replica is begun again. */
  replace: (replacement: Replacement) => boolean;
  log: Logger;
}

/**
 * The service by which a node is asked for its report, for the digest of a replica, and to begin one again or make its
 * best index.
 */
export function administrationService(parts: AdministrationParts): RpcService {
  return new LossyRequestService<AdministrationRequest, WireReport>({
    definition: administrationDefinition,
    answer: async ({ probe, digestOf, atSequence = 0, replace, optimize, purge, purgeStart = false }, ended) => {
      if (probe) return { report: null, digest: null };
      if (digestOf) return { report: null, digest: await digestOrNone(parts, [digestOf, atSequence, ended]) };
      if (replace) return { report: null, digest: null, replaced: parts.replace(replace) };
      if (optimize) {
        await parts.optimize(optimize);
        return { report: null, digest: null };
      }
      if (purge) {
        const purges = await parts.purge(purge, purgeStart);
        return { report: null, digest: null, purge: purges === null ? '' : purgesToText(purges) };
      }
      const { shards } = await parts.report();
      return {
        report: { shards: shards.map(({ role, ...rest }) => ({ ...rest, leads: role === 'primary' })) },
        digest: null,
      };
    },
    onError: (error) => parts.log.warn({ error }, 'a report failed'),
  });
}

/** Whoever asks waits for long: it has to hear that there will be no answer. */
async function digestOrNone(
  { digest, log }: AdministrationParts,
  asked: Parameters<AdministrationParts['digest']>,
): Promise<ReplicaDigest | null> {
  return digest(...asked).catch((error: unknown) => {
    // It was given up for a later question, or the replica closes.
    const isGivenUp = isQuiverError(error) && error.kind === 'unavailable';
    if (!isGivenUp) log.warn({ error, ...asked[0] }, 'the digest of a replica could not be made');
    return null;
  });
}
