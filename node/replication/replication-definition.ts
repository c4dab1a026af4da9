import type { ReplicationDefinition } from '../../shared/rpc/generated/quiver/v1/replication';
import { loadService } from '../../shared/rpc/protocol';

export const replicationDefinition = loadService<ReplicationDefinition>('quiver/v1/replication.proto', 'quiver.v1.Replication');
