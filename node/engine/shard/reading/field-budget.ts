import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { JsonObject } from '../../../../shared/contract/filter/filter';
import type { FilterIndex } from '../../filter/filter-index';

/** The fields that a write claims and the shard does not have yet. */
export interface FieldClaim {
  /** Call once the write is applied or has failed. */
  release(): void;
}

/**
 * Bounds the distinct metadata fields of a shard. Each costs a kilobyte of memory, however few items have it, and
 * metadata whose keys are data (for example an id as a key) would add one for every item. A write is checked before it
 * is stored or goes into a log, by the shard that accepts it: what is in a log is applied by every replica alike.
 * Fields claimed by writes under way count, so that concurrent writes get no further than consecutive ones. A shard
 * that has more fields from before the limit is served as before, and accepts items with the fields that it has.
 */
export class FieldBudget {
  /** Number of claims by field. */
  private readonly claimed = new Map<string, number>();

  constructor(private readonly parts: { filters: () => FilterIndex; fieldsMax: number }) {}

  /** A claim that holds nothing yet; `add` adds one item's metadata to it. Errors of `add`: limit_exceeded. */
  open(): FieldClaim & { add(metadata: JsonObject, externalId: string): void } {
    const mine = new Set<string>();
    return {
      add: (metadata, externalId) => {
        for (const field of this.parts.filters().newFields(metadata)) {
          if (mine.has(field)) continue;
          mine.add(field);
          this.claimed.set(field, (this.claimed.get(field) ?? 0) + 1);
        }
        if (mine.size > 0 && this.parts.filters().fieldCount + this.claimed.size > this.parts.fieldsMax)
          throw this.refusal(externalId);
      },
      release: () => {
        for (const field of mine) {
          const claims = (this.claimed.get(field) as number) - 1;
          if (claims === 0) this.claimed.delete(field);
          else this.claimed.set(field, claims);
        }
        mine.clear();
      },
    };
  }

  private refusal(externalId: string): QuiverError {
    const { fieldsMax } = this.parts;
    return new QuiverError(
      'limit_exceeded',
      `the metadata of item ${JSON.stringify(externalId)} would give the collection more than the maximum of ${fieldsMax} distinct fields (MAX_COLLECTION_FIELDS); values that differ from item to item belong in values, not in keys`,
    );
  }
}
