import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ItemOperation, PatchOperation, UpsertOperation } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import { PassageTemplate } from '../../models/passage-template';
import { NO_HOLD } from '../answer-hold';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionEmbedder } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { mustHaveSameVectors } from '../routing/shard-sets';
import type { VectorInput } from '../service';
import type { BoundedWrites } from './bounded-writes';
import type { ItemResult } from './item-writes';
import type { OrderedItems } from './ordered-items';
import { isSame } from './remade-vector';

/** How often an item is looked at again, that others keep writing. */
const LOOKS_MAX = 20;

/** A vector that was stored, and what it was made of. */
interface MadeVector {
  vector: Float32Array;
  passage: string;
}

/** By id, vectors that were stored beside whatever was there. */
export type MadeVectors = ReadonlyMap<string, MadeVector>;

/**
 * Mends vectors that are made of what others write as well, of writes that are not bound to what was looked at: what is
 * done once has one verdict, which can't depend on a version that nobody asked for. Each such write looks at its items
 * again: where its own vector stands beside other fields, it gives it way to one of those, bound to them.
 */
export class UnboundVectors {
  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      embedder: Pick<CollectionEmbedder, 'embedPassages'>;
      ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
      bounded: Pick<BoundedWrites, 'write'>;
      scatter: Pick<ScatterGather, 'begin'>;
    },
  ) {}

  /** Errors: commit_unknown: the items were stored. */
  async mend(name: string, made: MadeVectors): Promise<void> {
    let open = made;
    try {
      for (let look = 1; open.size > 0; look += 1) {
        if (look > LOOKS_MAX) throw new QuiverError('unavailable', 'others keep writing these items');
        open = await this.look(name, open);
      }
    } catch (error) {
      if (!isQuiverError(error)) throw error;
      // Those of another model are made of what is there.
      if (error.kind === 'remodelled' || error.kind === 'not_found') return;
      const first = JSON.stringify([...open.keys()][0]);
      throw new QuiverError(
        'commit_unknown',
        `${error.message}; the write was applied, but vectors may be of fields of before, such as that of external_id ` +
          `${first}: upsert or patch it with "embed": true, without an Idempotency-Key or with another`,
        { cause: error },
      );
    }
  }

  /** Answers those that were written again meanwhile. */
  private async look(name: string, made: MadeVectors): Promise<MadeVectors> {
    const { catalog, embedder, ordered, bounded, scatter } = this.parts;
    const collection = catalog.known(name) ?? (await catalog.find(name));
    const template = PassageTemplate.of(collection.embedding);
    const open = new Map<string, MadeVector>();
    if (template === null) return open;
    const ids = [...made.keys()];
    const passages: string[] = [];
    const operations: PatchOperation[] = [];
    const check = (item: StoredItem | null, { vector, passage }: MadeVector): void => {
      // Whoever stored another vector since sees to that.
      if (item === null || item.vector!.length !== vector.length || !isSame(vector, item.vector!)) return;
      const present = template.passageOf(item);
      if (present === null || present === passage) return;
      const { externalId, version } = item;
      passages.push(present);
      operations.push({
        type: 'patch',
        externalId,
        vector: undefined,
        metadata: undefined,
        text: undefined,
        expected: version ?? item.stamp,
        alone: true,
      });
    };
    let at = 0;
    const wanted = { vectors: true, versions: true };
    const pages = ordered.read(collection, ids, wanted, { begin: () => scatter.begin(), hold: NO_HOLD });
    for await (const page of pages) for (const item of page) check(item, made.get(ids[at++])!);
    if (operations.length === 0) return open;
    const { vectors } = await embedder.embedPassages(collection, passages);
    operations.forEach((operation, i) => (operation.vector = vectors[i]));
    const remake = async (current: CollectionRecord): Promise<void> => mustHaveSameVectors(collection, current);
    const results = await bounded.write(collection, operations, scatter.begin(), { remake });
    operations.forEach(({ externalId }, i) => {
      if (results[i].outcome === 'conflict') open.set(externalId, made.get(externalId)!);
    });
    return open;
  }
}

/** Of items that were upserted, those whose vectors are made of metadata that were there, and not bound to these. */
export function unboundOf(
  items: readonly VectorInput[],
  operations: readonly UpsertOperation[],
  passageOf: ReadonlyMap<ItemOperation, string>,
  results: readonly ItemResult[],
): MadeVectors {
  const unbound = new Map<string, MadeVector>();
  items.forEach(({ externalId, metadata, expected: asked }, i) => {
    if (results[i].outcome === 'conflict') return;
    // The last one of an id counts.
    unbound.delete(externalId);
    const { vector, expected = -1 } = operations[i];
    const passage = passageOf.get(operations[i]);
    const isBound = expected > 0 || (expected === 0 && asked === undefined);
    if (passage !== undefined && metadata === undefined && !isBound) unbound.set(externalId, { vector, passage });
  });
  return unbound;
}
