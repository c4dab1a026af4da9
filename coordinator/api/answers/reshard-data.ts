import type { ReshardView } from '../../service/service';

/** A reshard as answers show it. */
export function reshardData({ startedAt, waitsFor, ...view }: ReshardView) {
  return { ...view, started_at: startedAt, waits_for: waitsFor };
}
