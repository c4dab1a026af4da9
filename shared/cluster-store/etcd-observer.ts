/** What became of a call: an answer, a refusal, which is one too, or none within the deadline. */
export type EtcdCallOutcome = 'answered' | 'refused' | 'failed';

/** Hears of every unary call to etcd when it is over, repetitions counted in. */
export interface EtcdObserver {
  /** `method`: etcd's own name, such as `KV.Range`. */
  called(method: string, outcome: EtcdCallOutcome, durationMs: number): void;
}
