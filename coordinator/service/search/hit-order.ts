import { inSlices } from '../../../shared/base/time/work-slices';
import {
  compareOrderValues,
  type OrderKey,
  type OrderValues,
  orderValuesOf,
} from '../../../shared/contract/shard/item-order';
import { LEFT_OUT } from '../../../shared/contract/shard/shard-read';
import type { FoundHits, ScoredHit } from '../service';

/**
 * Hits by values of their metadata; those that are equal keep their order. What was left out of hits is read for it,
 * and not kept.
 */
export async function hitsInOrder({ hits, later }: FoundHits, keys: readonly OrderKey[]): Promise<ScoredHit[]> {
  const values = new Map<string, OrderValues>();
  await inSlices(noteValues(hits, keys, values));
  if (later !== undefined) {
    const leftOut = hits.filter(({ metadata }) => metadata === LEFT_OUT);
    for await (const page of later.pagesOf(leftOut)) await inSlices(noteValues(page, keys, values));
  }
  const none: OrderValues = keys.map(() => null);
  const valuesOf = ({ externalId }: ScoredHit): OrderValues => values.get(externalId) ?? none;
  return hits.toSorted((a, b) => compareOrderValues(keys, valuesOf(a), valuesOf(b)));
}

function* noteValues(
  hits: readonly ScoredHit[],
  keys: readonly OrderKey[],
  values: Map<string, OrderValues>,
): Generator<undefined, void> {
  for (const { externalId, metadata } of hits) {
    if (metadata !== LEFT_OUT) values.set(externalId, orderValuesOf(metadata, keys));
    yield;
  }
}
