import { administrationDefinition, type WireQuestion, type WireReport } from '../../shared/cluster/administration';
import type { NodeReport, ReplicaDigest } from '../../shared/cluster/node-report';
import type { Logger } from '../../shared/logs/logger';
import { QuestionService } from '../../shared/rpc/question-service';
import type { RpcService } from '../../shared/rpc/rpc-server';
import type { ShardId } from '../../shared/shard/shard-client';

/** The service by which a node is asked for its report, and for the digest of a replica: null where it has none. */
export function administrationService(parts: { report: () => Promise<NodeReport>; digest: (id: ShardId) => Promise<ReplicaDigest | null>; log: Logger }): RpcService {
  return new QuestionService<WireQuestion, WireReport>({
    definition: administrationDefinition,
    answer: async ({ probe, digestOf }) => {
      if (probe) return { report: null, digest: null };
      if (digestOf) return { report: null, digest: await parts.digest(digestOf) };
      const { shards } = await parts.report();
      return { report: { shards: shards.map(({ role, ...rest }) => ({ ...rest, leads: role === 'primary' })) }, digest: null };
    },
    onError: (error) => parts.log.warn({ error }, 'a report failed'),
  });
}
