import { inSlices } from '../../../shared/base/time/work-slices';
import type { Scalar } from '../../../shared/contract/filter/filter';
import { compareScalars } from '../../../shared/contract/shard/aggregate';
import { LEFT_OUT } from '../../../shared/contract/shard/shard-read';
import { metadataScalars } from '../chosen-metadata';
import type { OrderKey } from '../search-request';
import type { FoundHits, ScoredHit } from '../service';

/** By what a hit is ordered; undefined: it has no such value. */
type OrderValues = (Scalar | undefined)[];

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
  const none: OrderValues = keys.map(() => undefined);
  const valuesOf = ({ externalId }: ScoredHit): OrderValues => values.get(externalId) ?? none;
  return hits.toSorted((a, b) => compareBy(keys, valuesOf(a), valuesOf(b)));
}

function* noteValues(
  hits: readonly ScoredHit[],
  keys: readonly OrderKey[],
  values: Map<string, OrderValues>,
): Generator<undefined, void> {
  for (const { externalId, metadata } of hits) {
    if (metadata !== LEFT_OUT)
      values.set(
        externalId,
        keys.map((key) => valueOf(metadata, key)),
      );
    yield;
  }
}

/** Of an array the least value, or the greatest where these come first. */
function valueOf(metadata: string, { field, descending }: OrderKey): Scalar | undefined {
  const scalars = metadataScalars(metadata, field);
  if (scalars.length === 0) return undefined;
  return scalars.reduce((best, one) => (compareScalars(one, best) < 0 === descending ? best : one));
}

function compareBy(keys: readonly OrderKey[], a: OrderValues, b: OrderValues): number {
  for (const [i, { descending, missingFirst }] of keys.entries()) {
    const [one, other] = [a[i], b[i]];
    if (one === undefined && other === undefined) continue;
    if (one === undefined || other === undefined) return (one === undefined) === missingFirst ? -1 : 1;
    const order = compareScalars(one, other);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}
