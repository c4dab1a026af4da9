import { READ_KINDS } from '../../../shared/wire/codecs/read-codecs';
import type { ReadKind } from '../../../shared/contract/shard/shard-read';

/** The calls that coordinators make to a node's shards. */
export type NodeOperation = ReadKind | 'write';
export const NODE_OPERATIONS: readonly NodeOperation[] = [...READ_KINDS, 'write'];

/** Gets the duration of each call, including the time in the shard's queue, whether it failed or not. */
export interface OperationObserver {
  done(operation: NodeOperation, durationMs: number, outcome: 'answered' | 'failed'): void;
}

export const NO_OPERATION_OBSERVER: OperationObserver = { done: () => undefined };
