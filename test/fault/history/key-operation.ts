import assert from 'node:assert';
import { isWrite, type Operation } from './operation';

/**
 * What one operation did to one id. A read is of the state (`value`, null: absent); an upsert writes `value`; a delete
 * writes null. Operations that failed are not among them: they did nothing.
 */
export interface KeyOperation {
  type: 'read' | 'upsert' | 'delete';
  value: string | null;
  inv: number;
  /** Infinity: it may take effect at any later time. */
  ret: number;
  /** Took effect for sure, between `inv` and `ret`. */
  isCertain: boolean;
  /** Whether the id was there just before a write, as its answer says; null: not said. */
  saw: 'present' | 'absent' | null;
  /** The one value that a conditional write can have met, null for none; undefined: any. */
  met?: string | null;
  source: Operation;
  /** Place of the id in its request. */
  position: number;
}

/** Which answers of a write are held against it. */
export interface OutcomeRule {
  /**
   * exact: "inserted", "updated" and "not found" describe the state that the write met. retried: the service may have
   * repeated the write itself after it had taken effect, so they say nothing.
   */
  outcomes: 'exact' | 'retried';
}

/** The operations on each id, in the order of their calls. Whole-collection reads are not among them. */
export function keyOperations(
  operations: readonly Operation[],
  { outcomes }: OutcomeRule,
): Map<string, KeyOperation[]> {
  const byId = new Map<string, KeyOperation[]>();
  for (const source of operations) {
    assert(new Set(source.ids).size === source.ids.length, `operation #${source.index} names an id twice`);
    if (source.outcome === 'fail' || (source.outcome === 'unknown' && !isWrite(source.kind))) {
      continue;
    }
    source.ids.forEach((id, position) => {
      let list = byId.get(id);
      if (list === undefined) byId.set(id, (list = []));
      list.push(keyOperation(source, id, position, outcomes));
    });
  }
  for (const list of byId.values()) list.sort((a, b) => a.inv - b.inv);
  return byId;
}

function keyOperation(
  source: Operation,
  id: string,
  position: number,
  outcomes: OutcomeRule['outcomes'],
): KeyOperation {
  const { kind, args, result, inv } = source;
  const isCertain = source.outcome === 'ok';
  const ret = isCertain ? source.ret : Infinity;
  const base = { inv, ret, isCertain, source, position };
  if (kind === 'upsert' || kind === 'bulk_upsert') {
    const status = isCertain && outcomes === 'exact' ? result.statuses?.[position] : undefined;
    const { expects } = args;
    if (expects !== undefined)
      return {
        ...base,
        type: 'upsert',
        value: args.values?.[position] ?? null,
        saw: expects === null ? 'absent' : 'present',
        met: expects,
      };
    const saw = status === undefined ? null : status === 'inserted' ? 'absent' : 'present';
    return { ...base, type: 'upsert', value: args.values?.[position] ?? null, saw };
  }
  if (kind === 'delete' || kind === 'delete_batch') {
    const saw = !isCertain || outcomes === 'retried' ? null : result.deleted?.includes(id) ? 'present' : 'absent';
    return { ...base, type: 'delete', value: null, saw };
  }
  const item = result.items?.find((each) => each.id === id);
  return { ...base, type: 'read', value: item === undefined ? null : item.value, saw: null };
}
