import type { JsonObject } from '../../shared/filter/filter';
import type { WriteOutcome } from '../../shared/shard/shard-client';
import { matches } from '../filter/matches';
import type { ShardOperation } from './checked-write';
import { parsedMetadata } from './shard-indexes';

/** What is stored of an item before a batch. */
export interface PriorItem {
  slot: number;
  recno: number;
  stamp: number;
  metadata: string;
  text: string | null;
}

/** The item after the batch. */
export interface PlannedItem {
  externalId: string;
  stamp: number;
  metadata: string;
  /** The same, where somebody has parsed it. */
  parsed: JsonObject | undefined;
  text: string | null;
  vector: Float32Array;
}

export interface WritePlan {
  /** By request, then by operation. */
  outcomes: WriteOutcome[][];
  /** Final states of the ids whose item changes, in the order of their last operation. */
  puts: { item: PlannedItem; prior: PriorItem | null }[];
  /** Items that no longer exist after the batch. */
  deletes: { externalId: string; prior: PriorItem }[];
}

/**
 * Combines the operations of several requests, in order, into one change per id: what a reader would see after applying
 * them one by one. One operation per step, because stored metadata may have to be parsed. An update keeps the stamp,
 * and the metadata and text that it omits. A deleted item that is put again is a new one.
 */
export function* planWrites(requests: ShardOperation[][], priorOf: (externalId: string) => PriorItem | null): Generator<undefined, WritePlan> {
  const states: ItemStates = new Map();
  const outcomes: WriteOutcome[][] = [];
  for (const operations of requests) {
    const ofRequest: WriteOutcome[] = [];
    for (const operation of operations) {
      ofRequest.push(follow(operation, states, priorOf));
      yield;
    }
    outcomes.push(ofRequest);
  }

  const puts: WritePlan['puts'] = [];
  const deletes: WritePlan['deletes'] = [];
  for (const [externalId, { prior, now }] of states) {
    if (now !== null && 'vector' in now) puts.push({ item: now, prior });
    else if (now === null && prior !== null) deletes.push({ externalId, prior });
  }
  return { outcomes, puts, deletes };
}

type ItemStates = Map<string, { prior: PriorItem | null; now: PlannedItem | PriorItem | null }>;

function follow(operation: ShardOperation, states: ItemStates, priorOf: (externalId: string) => PriorItem | null): WriteOutcome {
  const { externalId } = operation;
  let state = states.get(externalId);
  if (state === undefined) {
    const prior = priorOf(externalId);
    state = { prior, now: prior };
  }
  // Deleted and set again, so that the map's order is that of the last operation on each id.
  states.delete(externalId);
  states.set(externalId, state);
  const existed = state.now !== null;
  if (operation.type === 'delete') {
    if (state.now !== null && operation.filter !== undefined && !matches(operation.filter, parsedMetadata(state.now.metadata))) return 'absent';
    state.now = null;
    return existed ? 'deleted' : 'absent';
  }
  state.now = updated(operation, state.now);
  return existed ? 'updated' : 'inserted';
}

function updated(operation: Extract<ShardOperation, { type: 'upsert' }>, existing: PlannedItem | PriorItem | null): PlannedItem {
  return {
    externalId: operation.externalId,
    stamp: existing?.stamp ?? operation.stamp,
    metadata: operation.metadata === undefined ? (existing?.metadata ?? '{}') : wellFormed(operation.metadata),
    parsed: operation.parsed,
    text: operation.text ?? existing?.text ?? null,
    vector: operation.vector,
  };
}

/** JSON text may hold lone surrogates, which UTF-8 can't represent; as escapes they mean the same. */
function wellFormed(json: string): string {
  return json.isWellFormed() ? json : JSON.stringify(JSON.parse(json));
}
