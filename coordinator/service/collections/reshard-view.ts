import type { ReshardView } from '../service';
import { isUntouched, type ReshardRecord, type ReshardState } from './reshard-record';

/** Reshards as they are shown, by the names of their collections. */
export function shownReshards(records: readonly ReshardRecord[]): ReshardView[] {
  return records
    .filter(isShown)
    .map((record) => ({ ...reshardView(record), waitsFor: waitsFor(record, records) }))
    .sort((a, b) => (a.collection < b.collection ? -1 : 1));
}

/** A restore shows itself, unless it can't be told any more what became of it. */
function isShown({ restored, state }: ReshardRecord): boolean {
  return restored === undefined || state === 'stuck';
}

/**
 * What keeps it from getting on: what it met last, or the one before it, because one collection after the other is
 * copied.
 */
function waitsFor(reshard: ReshardRecord, all: readonly ReshardRecord[]): string | null {
  const { waitsFor: met } = reshardView(reshard);
  if (met !== null || !isUntouched(reshard)) return met;
  const first = all.find(
    (one) =>
      one !== reshard &&
      one.state === 'filling' &&
      one.restored === undefined &&
      one.reembed?.isPaused !== true &&
      (one.reembed === undefined) === (reshard.reembed === undefined) &&
      !isUntouched(one),
  );
  return first === undefined ? null : `the shards of collection "${first.name}", which are copied first`;
}

function shownState(state: ReshardState): ReshardView['state'] {
  if (state === 'kept') return 'retiring';
  return state === 'seeding' || state === 'ready' ? 'filling' : state;
}

/** A reshard as it is shown, without the others that it may wait for. */
export function reshardView({
  name,
  from,
  to,
  state: present,
  copied,
  total,
  behind,
  startedAt,
  error,
  waitsFor,
}: ReshardRecord): ReshardView {
  const state = shownState(present);
  const isCopied = state === 'sealing' || state === 'opening' || state === 'retiring';
  const fraction = isCopied ? 1 : Math.min(1, total === 0 ? 0 : copied / total);
  return {
    collection: name,
    from: from.shards,
    to: to.shards,
    state,
    fraction,
    copied,
    total,
    behind,
    startedAt,
    error,
    waitsFor: state === 'failed' || state === 'stuck' ? null : (waitsFor ?? null),
  };
}
