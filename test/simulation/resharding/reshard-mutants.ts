import type { ShardClient, WriteOperation } from '../../../shared/contract/shard/shard-client';
import type { ShardTransfer } from '../../../shared/contract/shard/shard-read';
import { callsOf } from '../../support/stories/shard-calls';
import type { ShardTamper } from './shard-machine';

/** A known-bad variant of what a reshard rests on. */
export interface ReshardMutant {
  name: string;
  title: string;
  /** A seed that is known to catch it, from which on the tests look. */
  seed: number;
  shard?: ShardTamper;
  /** What coordinators' calls become on their way to shards. */
  client?: (client: ShardClient) => ShardClient;
}

export const RESHARD_MUTANTS: ReshardMutant[] = [
  {
    name: 'R1',
    title: 'a sealed or closed shard takes writes',
    seed: 27,
    shard: {
      stageState: (stageState) =>
        stageState.stage === 'sealed' || stageState.stage === 'closed'
          ? { ...stageState, stage: 'tracking' }
          : stageState,
    },
  },
  {
    name: 'R2',
    title: 'a closed shard answers reads',
    seed: 15,
    shard: { answers: ({ stage }) => stage === 'closed' },
  },
  {
    name: 'R3',
    title: 'what comes in a term that is over counts',
    seed: 4,
    shard: {
      operations: (operations, { term }) =>
        operations.map((operation) =>
          'term' in operation ? { ...operation, term: Math.max(operation.term, term) } : operation,
        ),
    },
  },
  {
    name: 'R4',
    title: 'what changed last before the seal is not taken over',
    seed: 22,
    client: (client) => ({
      ...callsOf(client),
      read: async (id, kind, request, call) => {
        const answer = await client.read(id, kind, request, call);
        if (kind !== 'transfer' || (answer as ShardTransfer).stage !== 'sealed') return answer;
        return {
          ...(answer as ShardTransfer),
          externalIds: [],
          upTo: (answer as ShardTransfer).lastChange,
        } as typeof answer;
      },
    }),
  },
  {
    name: 'R5',
    title: 'the new shards open while the old ones still answer',
    seed: 15,
    client: (client) => withoutStage(client, 'closed'),
  },
  {
    name: 'R6',
    title: 'the old shards are not sealed',
    seed: 29,
    client: (client) => withoutStage(client, 'sealed'),
  },
  {
    name: 'R7',
    title: 'a delete is not noted as a change',
    seed: 21,
    shard: { notes: (operations) => operations.every(({ type }) => type !== 'delete') },
  },
];

/** Whoever asks for this stage is told that it is there. */
function withoutStage(client: ShardClient, stage: string): ShardClient {
  const isLeftOut = (operation: WriteOperation): boolean => operation.type === 'stage' && operation.stage === stage;
  return {
    ...callsOf(client),
    write: async (id, operations, call) =>
      operations.some(isLeftOut)
        ? { outcomes: ['updated'], firstVersion: 0, present: [] }
        : client.write(id, operations, call),
  };
}
