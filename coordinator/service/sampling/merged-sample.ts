import type { SampleResult } from '../../../shared/contract/shard/shard-read';

/** Pure: which items of the shards' parts are the sample. */

export interface SampledItem {
  externalId: string;
  key: number;
}

/**
 * How many items to ask a shard for: ids are spread by a hash, so hardly ever does one shard hold more of a sample than
 * this.
 */
export function partSize(size: number, shards: number): number {
  const average = size / shards;
  return Math.min(size, Math.ceil(average + DEVIATIONS * Math.sqrt(average)) + SPARE);
}

const DEVIATIONS = 5;
const SPARE = 8;

/** Items sorted between two steps: some hundred microseconds. */
const RUN_ITEMS = 512;

/**
 * The `size` items with the least keys, in the order of (key, external id); null if a part does not reach far enough,
 * so that it may lack some of them: then each is to be asked for more. `asked`: how many items each part was asked for.
 * In steps.
 */
export function* mergedSample(
  parts: readonly SampleResult[],
  asked: number,
  size: number,
): Generator<undefined, SampledItem[] | null> {
  /** Every item with a key up to here is known. */
  let known = Infinity;
  let count = 0;
  for (const { keys } of parts) {
    count += keys.length;
    // A part as large as the sample reaches far enough by itself.
    if (keys.length >= asked && asked < size) known = Math.min(known, greatestOf(keys));
    yield;
  }
  if (count === 0) return [];
  const runs = yield* sortedRuns(parts, count);
  const sample: SampledItem[] = [];
  for (const run of runs) {
    for (const item of run) {
      if (sample.length === size) return sample;
      if (item.key > known) return null;
      // An item that was replaced while its shard was looked through may be there twice.
      if (sample.at(-1)?.externalId !== item.externalId) sample.push(item);
    }
    yield;
  }
  return known === Infinity || sample.length === size ? sample : null;
}

function greatestOf(keys: Float64Array): number {
  return keys.reduce((greatest, key) => (key > greatest ? key : greatest), 0);
}

/**
 * All items in order, cut into runs: keys are spread evenly, so each goes to its run by its key, and runs are sorted
 * one by one.
 */
function* sortedRuns(parts: readonly SampleResult[], count: number): Generator<undefined, SampledItem[][]> {
  const greatest = Math.max(...parts.map(({ keys }) => greatestOf(keys)));
  const runs: SampledItem[][] = Array.from({ length: Math.ceil(count / RUN_ITEMS) }, () => []);
  const runOf = (key: number): number => Math.min(runs.length - 1, Math.floor((key / (greatest + 1)) * runs.length));
  let placed = 0;
  for (const { keys, externalIds } of parts) {
    for (let i = 0; i < keys.length; i++) {
      runs[runOf(keys[i])].push({ externalId: externalIds[i], key: keys[i] });
      if (++placed % RUN_ITEMS === 0) yield;
    }
  }
  for (const run of runs) {
    run.sort(inSampleOrder);
    yield;
  }
  return runs;
}

function inSampleOrder(a: SampledItem, b: SampledItem): number {
  if (a.key !== b.key) return a.key - b.key;
  return a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0;
}
