import { type Filter, isCondition, type JsonObject, type TextCondition } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { FoundSlotSet } from '../slots/found-slot-set';
import type { AddonFilterIndex } from '../vector/native-filters';
import { filterProgram } from './filter-program';
import { stringKey } from '../../../shared/contract/shard/value-key';
import { matches } from './matches';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';

/** The text that an item has under a path, of which the lists have the key. */
export function longTextOf(metadata: JsonObject, path: string, key: string): string {
  const value = lookUpPath(metadata, path);
  const found = (Array.isArray(value) ? value : [value]).find(
    (one): one is string => typeof one === 'string' && stringKey(one) === key,
  );
  if (found === undefined) throw new Error('a text of the lists is not in the metadata of its item');
  return found;
}

interface Listed {
  native: Pick<AddonFilterIndex, 'unknown' | 'has'>;
  metadataOf: (slot: number) => JsonObject;
}

/**
 * Of a long text the lists of values have the beginning alone (shared/contract/shard/value-key.ts). Whether more of it
 * passes a condition is read from the metadata of the slots that have it.
 */
export class LongTexts {
  constructor(private readonly listed: Listed) {}

  /** The slots whose metadata have to be read for the filter, for each condition by itself. */
  count(filter: Filter): number {
    if (isCondition(filter)) return filter.type === 'text' ? this.unknown(filter).size : 0;
    if (filter.type === 'not') return this.count(filter.filter);
    return filter.filters.reduce((sum, part) => sum + this.count(part), 0);
  }

  /**
   * Those that pass a condition, one read in each step; `within`: of these alone. A slot that changes meanwhile may be
   * wrong.
   */
  *passing(condition: TextCondition, within: ChunkedSlotSet | null): Generator<undefined, ChunkedSlotSet> {
    const found = new ChunkedSlotSet();
    const { native, metadataOf } = this.listed;
    for (const slot of this.unknown(condition).toArray()) {
      if (within !== null && !within.has(slot)) continue;
      if (native.has(slot) && matches(condition, metadataOf(slot))) found.add(slot);
      yield;
    }
    return found;
  }

  private unknown(condition: TextCondition): FoundSlotSet {
    if (condition.test === 'prefix') return new FoundSlotSet(true, new Uint32Array(0), 0);
    const program = filterProgram(condition);
    const { listed, words, count } = this.listed.native.unknown(program, program.length);
    return new FoundSlotSet(listed, words, count);
  }
}
