import type { JsonObject } from '../../shared/filter/filter';
import type { ImportOperation, ItemOperation, WriteOutcome } from '../../shared/shard/shard-client';
import { matches } from '../filter/matches';
import { type Gate, gateAfter, refusesWrites } from '../records/shard-gate';
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
  /** The gate after the operations. */
  gate: Gate;
  /** Of each id that was touched while the shard tracked, the number of the last change. */
  changes: { change: number; externalId: string }[];
}

/**
 * Combines the operations of several requests, in order, into one change per id: what a reader would see after applying
 * them one by one. One operation per step, because stored metadata may have to be parsed. An update keeps the stamp,
 * and the metadata and text that it omits. A deleted item that is put again is a new one. What the gate does not let
 * through changes nothing.
 */
export function* planWrites(requests: ShardOperation[][], priorOf: (externalId: string) => PriorItem | null, before: Gate): Generator<undefined, WritePlan> {
  const states: ItemStates = new Map();
  const outcomes: WriteOutcome[][] = [];
  let gate = before;
  for (const operations of requests) {
    const ofRequest: WriteOutcome[] = [];
    for (const operation of operations) {
      if (operation.type === 'stage') {
        const after = gateAfter(gate, operation);
        gate = after ?? gate;
        ofRequest.push(after === null ? 'outdated' : 'updated');
      } else if (operation.type === 'import') {
        const isTimely = gate.stage === 'filling' && operation.term === gate.term;
        ofRequest.push(isTimely ? take(operation, states, priorOf) : 'outdated');
      } else if (refusesWrites(gate)) {
        ofRequest.push('refused');
      } else {
        ofRequest.push(follow(operation, states, priorOf));
        // Whatever its outcome: batches differ between replicas, and each must have the last change of every id.
        if (gate.since > 0) {
          gate = { ...gate, lastChange: gate.lastChange + 1 };
          states.get(operation.externalId)!.change = gate.lastChange;
        }
      }
      yield;
    }
    outcomes.push(ofRequest);
  }

  const puts: WritePlan['puts'] = [];
  const deletes: WritePlan['deletes'] = [];
  const changes: WritePlan['changes'] = [];
  for (const [externalId, { prior, now, change }] of states) {
    if (now !== null && 'vector' in now) puts.push({ item: now, prior });
    else if (now === null && prior !== null) deletes.push({ externalId, prior });
    if (change > 0) changes.push({ change, externalId });
  }
  return { outcomes, puts, deletes, gate, changes };
}

interface ItemState {
  prior: PriorItem | null;
  now: PlannedItem | PriorItem | null;
  /** The number of the last change, 0 for none that counts. */
  change: number;
}

type ItemStates = Map<string, ItemState>;

/** The item as it is elsewhere takes the place of what is here, with its stamp. */
function take({ externalId, item, parsed }: ImportOperation & { parsed?: JsonObject }, states: ItemStates, priorOf: (externalId: string) => PriorItem | null): WriteOutcome {
  const state = states.get(externalId) ?? { prior: priorOf(externalId), now: null, change: 0 };
  states.delete(externalId);
  states.set(externalId, state);
  state.now = item === null ? null : { ...item, externalId, metadata: wellFormed(item.metadata), parsed };
  return item === null ? 'deleted' : 'updated';
}

function follow(operation: ItemOperation & { parsed?: JsonObject }, states: ItemStates, priorOf: (externalId: string) => PriorItem | null): WriteOutcome {
  const { externalId } = operation;
  let state = states.get(externalId);
  if (state === undefined) {
    const prior = priorOf(externalId);
    state = { prior, now: prior, change: 0 };
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
