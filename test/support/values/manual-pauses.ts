import type { Pauses } from '../../../coordinator/models/remote/provider-gate';

/** Pauses that take no time, and the time that they would have taken. */
export class ManualPauses {
  nowMs = 0;
  readonly made: number[] = [];
  readonly both: Pauses = {
    monotonicMs: () => this.nowMs,
    pause: async (ms) => {
      this.made.push(ms);
      this.nowMs += ms;
    },
  };
}
