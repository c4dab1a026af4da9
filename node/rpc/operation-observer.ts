/** The calls that coordinators make to a node's shards. */
export const NODE_OPERATIONS = ['search', 'score', 'keywordSearch', 'keywordStatistics', 'fetch', 'scan', 'count', 'status', 'write'] as const;
export type NodeOperation = (typeof NODE_OPERATIONS)[number];

/** Hears how long each call took, queueing for the shard included, whether it failed or not. */
export interface OperationObserver {
  done(operation: NodeOperation, durationMs: number, outcome: 'answered' | 'failed'): void;
}

export const NO_OPERATION_OBSERVER: OperationObserver = { done: () => undefined };
