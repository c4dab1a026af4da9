/** How a call ended: with an answer, with a refusal (etcd answered, too), or without an answer within the deadline. */
export type EtcdCallOutcome = 'answered' | 'refused' | 'failed';

/** Is called after every unary call to etcd. A call that was repeated is reported once. */
export interface EtcdObserver {
  /** `method`: etcd's own name, for example `KV.Range`. */
  called(method: string, outcome: EtcdCallOutcome, durationMs: number): void;
}
