import type { NodeReport } from '../../shared/cluster/node-report';
import type { Logger } from '../../shared/logs/logger';
import { administrationDefinition, type WireReport } from '../../shared/rpc/administration';
import { QuestionService } from '../../shared/rpc/question-service';
import type { RpcService } from '../../shared/rpc/rpc-server';

/** The service by which coordinators ask a node for its report. */
export function administrationService(parts: { report: () => Promise<NodeReport>; log: Logger }): RpcService {
  return new QuestionService<{ id: number; probe: boolean }, WireReport>({
    definition: administrationDefinition,
    answer: async ({ probe }) => {
      if (probe) return { report: null };
      const { shards } = await parts.report();
      return { report: { shards: shards.map(({ role, ...rest }) => ({ ...rest, leads: role === 'primary' })) } };
    },
    onError: (error) => parts.log.warn({ error }, 'a report failed'),
  });
}
