import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { NO_VERSION } from '../../../shared/contract/shard/shard-client';
import { keptMetadata } from '../../../shared/contract/filter/chosen-metadata';
import { ownTurn } from '../../../shared/base/time/work-slices';
import type { PassageTemplate } from '../../models/passage-template';
import { NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import type { VectorInput } from '../service';
import type { OrderedItems } from './ordered-items';

/** By id, the versions of items that something was decided by; NO_VERSION: of one that was not there. */
export type SeenVersions = ReadonlyMap<string, number>;

export const NOTHING_SEEN: SeenVersions = new Map();

/** What vectors of items that are about to be stored are made of, in a collection that has a template. */
export class Passages {
  constructor(
    private readonly ordered: Pick<OrderedItems<CollectionRecord>, 'read'>,
    private readonly scatter: Pick<ScatterGather, 'begin'>,
  ) {}

  /**
   * In their order: undefined of one whose vector is given; null: it has nothing that its vector could be made of.
   * Those whose metadata stay as they are were looked at: `seen` has their versions. Errors: those of the shards.
   */
  async of(
    collection: CollectionRecord,
    template: PassageTemplate,
    items: readonly VectorInput[],
  ): Promise<{ passages: (string | null | undefined)[]; seen: SeenVersions }> {
    const given = new Set<string>();
    const staying = new Set<string>();
    for (const { externalId, source, metadata } of items) {
      if (metadata !== undefined) given.add(externalId);
      else if (source.vector === undefined && template.paths.length > 0 && !given.has(externalId))
        staying.add(externalId);
    }
    const ids = [...staying];
    const seen = new Map<string, number>();
    /** By id, as they are when the next item of the call is stored. */
    const metadataOf = new Map<string, string>();
    const wanted = { vectors: false, texts: false, versions: true };
    const pages = this.ordered.read(collection, ids, wanted, { begin: () => this.scatter.begin(), hold: NO_HOLD });
    if (ids.length > 0)
      for await (const page of pages)
        for (const item of page) {
          const externalId = ids[seen.size];
          seen.set(externalId, item === null ? NO_VERSION : (item.version ?? item.stamp));
          // All of a thousand items may be much.
          if (item !== null) metadataOf.set(externalId, keptMetadata(item.metadata, template.paths));
        }
    const passages: (string | null | undefined)[] = [];
    for (const { externalId, source, metadata } of items) {
      if (metadata !== undefined) metadataOf.set(externalId, metadata);
      if (source.vector !== undefined) {
        passages.push(undefined);
        continue;
      }
      // A thousand items with long metadata take seconds.
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      passages.push(template.passageOf({ text: source.text, metadata: metadataOf.get(externalId) ?? '{}' }));
    }
    // Of an id that is there twice, the version changes in between.
    const count = new Map<string, number>();
    for (const { externalId } of items) count.set(externalId, (count.get(externalId) ?? 0) + 1);
    for (const externalId of ids) if (count.get(externalId)! > 1) seen.delete(externalId);
    return { passages, seen };
  }
}

/** Of an item that no vector can be made of. */
export function passageless(template: PassageTemplate, externalId: string): QuiverError {
  return new QuiverError(
    'invalid_parameter',
    `external_id ${JSON.stringify(externalId)} has no field of ${JSON.stringify(template.source)} (embedding.template): ` +
      'give it one, or a vector',
  );
}
