import { dateForm } from '../../../../shared/contract/filter/date-form';
import type { Filter } from '../../../../shared/contract/filter/filter';
import type { FieldFacts, FieldFactsRequest } from '../../../../shared/contract/shard/field-facts';
import { inSlices } from '../../../../shared/base/time/work-slices';
import { lookUpPath } from '../../../../shared/contract/filter/metadata-path';
import { parsedMetadata, type ShardIndexes } from '../shard-indexes';

/** Items whose dates are looked at, spread over all that have the field: a few milliseconds at most. */
const DATES_LOOKED_AT = 1_024;
/** Ways of writing dates that are told of one field. */
const FORMS_MAX = 8;
/** Names of fields that are answered. */
const NAMES_MAX = 1_000;

/** Answers what the items of a shard have under some paths. An item that is written meanwhile may count or not. */
export async function fieldFacts(
  { directory, filters }: ShardIndexes,
  { paths, dates }: FieldFactsRequest,
): Promise<FieldFacts> {
  const present: boolean[] = [];
  for (const path of paths) {
    const filter: Filter = { type: 'exists', path };
    await filters.prepare(filter);
    present.push(filters.resolve(filter).size > 0);
  }
  const forms: string[][] = [];
  for (const path of dates) {
    const filter: Filter = { type: 'exists', path };
    await filters.prepare(filter);
    forms.push(await inSlices(formsOf(directory, path, filters.resolve(filter).toArray())));
  }
  return {
    items: directory.liveCount,
    present,
    forms,
    names: present.includes(false) ? filters.fieldNames(NAMES_MAX) : [],
  };
}

function* formsOf(
  directory: ShardIndexes['directory'],
  path: string,
  slots: Uint32Array,
): Generator<undefined, string[]> {
  const forms = new Set<string>();
  const step = Math.max(1, slots.length / DATES_LOOKED_AT);
  for (let at = 0; at < slots.length && forms.size < FORMS_MAX; at += step) {
    const slot = slots[Math.floor(at)];
    if (directory.isLive(slot)) {
      const value = lookUpPath(parsedMetadata(directory.metadataOf(slot)), path);
      for (const one of Array.isArray(value) ? value : [value]) {
        const form = dateForm(one);
        if (form !== null) forms.add(form);
      }
    }
    yield;
  }
  return [...forms];
}
