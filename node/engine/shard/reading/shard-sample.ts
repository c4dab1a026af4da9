import type { SampleRequest, SampleResult } from '../../../../shared/contract/shard/shard-read';
import { SAMPLE_KEYS } from '../../../../shared/contract/shard/sample-key';
import { inSlices } from '../../../../shared/base/time/work-slices';
import type { ShardIndexes } from '../shard-indexes';
import type { ShardCounters } from '../writing/shard-writer';

/** Items looked at between two looks at the clock: some tens of microseconds. */
const STEP_ITEMS = 512;
/**
 * How far beyond what is expected the bound of the keys is set, in standard deviations: a second round is next to never
 * needed.
 */
const MARGIN_DEVIATIONS = 6;
const MARGIN_ITEMS = 16;

/**
 * Draws a shard's part of a sample: the items with the least keys. Looks at every item that matches, about a tenth of a
 * microsecond each, in slices. An item that is written meanwhile may be left out.
 */
export async function drawSample(
  parts: { indexes: ShardIndexes; counters: ShardCounters },
  { size, seed, filter }: SampleRequest,
): Promise<SampleResult> {
  const { indexes, counters } = parts;
  const { directory, filters } = indexes;
  if (filter === null)
    return inSlices(drawing(directory, size, seed, directory.liveCount, () => directory.liveSlots()));
  await filters.prepare(filter);
  const slots = filters.resolve(filter).toArray();
  const { lastRecno } = counters;
  // Another item may be in a slot by the time it is looked at.
  const isSame = (slot: number): boolean => directory.isLive(slot) && directory.recnoOf(slot) <= lastRecno;
  return inSlices(drawing(directory, size, seed, slots.length, () => slots.values(), isSame));
}

function* drawing(
  directory: ShardIndexes['directory'],
  size: number,
  seed: number,
  population: number,
  slots: () => Iterable<number>,
  isSame: (slot: number) => boolean = () => true,
): Generator<undefined, SampleResult> {
  // Keys are spread evenly, so how many are below a bound is known before any is looked at.
  for (let margin = MARGIN_ITEMS + MARGIN_DEVIATIONS * Math.sqrt(size); ; margin = 2 * (margin + size)) {
    const bound = ((size + margin) / Math.max(1, population)) * SAMPLE_KEYS;
    const externalIds: string[] = [];
    const keys: number[] = [];
    let looks = 0;
    for (const slot of slots()) {
      if (isSame(slot)) {
        const key = directory.sampleKeyOf(slot, seed);
        if (key < bound) {
          externalIds.push(directory.externalIdOf(slot));
          keys.push(key);
        }
      }
      if (++looks % STEP_ITEMS === 0) yield;
    }
    if (keys.length >= size || bound >= SAMPLE_KEYS) return { population, externalIds, keys: Float64Array.from(keys) };
  }
}
