import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ItemOperation, PatchOperation, UpsertOperation } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import { ownTurn } from '../../../shared/base/time/work-slices';
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
      throwUnmended(error, open);
    }
  }

  /**
   * As `mend`, where the write was made by a call before, which may have died behind it: by id, the versions that it
   * gave. An item that is of its version still has the vector that came with it. Errors: as `mend`, also while its
   * model is away: nobody knows by then whether there is something to mend.
   */
  async mendRepeated(name: string, versions: ReadonlyMap<string, number>): Promise<void> {
    if (versions.size === 0) return;
    try {
      const { catalog, embedder } = this.parts;
      const collection = catalog.known(name) ?? (await catalog.find(name));
      const template = PassageTemplate.of(collection.embedding);
      if (template === null) return;
      const items: StoredItem[] = [];
      const passages: string[] = [];
      await this.each(collection, [...versions.keys()], (item, externalId) => {
        if (item === null || versionOf(item) !== versions.get(externalId)) return;
        const passage = template.passageOf(item);
        if (passage === null) return;
        items.push(item);
        passages.push(passage);
      });
      if (items.length === 0) return;
      const { vectors } = await embedder.embedPassages(collection, passages);
      const changed = items.flatMap((item, i) =>
        vectors[i].length !== item.vector!.length || isSame(vectors[i], item.vector!)
          ? []
          : [{ ...vectorPatch(item), vector: vectors[i] }],
      );
      // Who has written one since has looked at it.
      if (changed.length > 0) await this.store(collection, changed);
    } catch (error) {
      throwUnmended(error, versions);
    }
  }

  /** Answers those that were written again meanwhile. */
  private async look(name: string, made: MadeVectors): Promise<MadeVectors> {
    const { catalog, embedder } = this.parts;
    const collection = catalog.known(name) ?? (await catalog.find(name));
    const template = PassageTemplate.of(collection.embedding);
    const open = new Map<string, MadeVector>();
    if (template === null) return open;
    const passages: string[] = [];
    const operations: PatchOperation[] = [];
    const check = (item: StoredItem | null, { vector, passage }: MadeVector): void => {
      // Whoever stored another vector since sees to that.
      if (item === null || item.vector!.length !== vector.length || !isSame(vector, item.vector!)) return;
      const present = template.passageOf(item);
      if (present === null || present === passage) return;
      passages.push(present);
      operations.push(vectorPatch(item));
    };
    await this.each(collection, [...made.keys()], (item, externalId) => check(item, made.get(externalId)!));
    if (operations.length === 0) return open;
    const { vectors } = await embedder.embedPassages(collection, passages);
    operations.forEach((operation, i) => (operation.vector = vectors[i]));
    const results = await this.store(collection, operations);
    operations.forEach(({ externalId }, i) => {
      if (results[i].outcome === 'conflict') open.set(externalId, made.get(externalId)!);
    });
    return open;
  }

  /** Looks at items, in turns: their metadata may be long. */
  private async each(
    collection: CollectionRecord,
    ids: readonly string[],
    look: (item: StoredItem | null, externalId: string) => void,
  ): Promise<void> {
    const { ordered, scatter } = this.parts;
    let at = 0;
    const wanted = { vectors: true, versions: true };
    const pages = ordered.read(collection, ids, wanted, { begin: () => scatter.begin(), hold: NO_HOLD });
    for await (const page of pages)
      for (const item of page) {
        const turn = ownTurn();
        if (turn !== undefined) await turn;
        look(item, ids[at++]);
      }
  }

  private store(collection: CollectionRecord, operations: PatchOperation[]): Promise<ItemResult[]> {
    const { bounded, scatter } = this.parts;
    const remake = async (current: CollectionRecord): Promise<void> => mustHaveSameVectors(collection, current);
    return bounded.write(collection, operations, scatter.begin(), { remake });
  }
}

function versionOf({ version, stamp }: StoredItem): number {
  return version ?? stamp;
}

/** To be stored only beside the item as it is, with the vector that is to come. */
function vectorPatch(item: StoredItem): PatchOperation {
  return {
    type: 'patch',
    externalId: item.externalId,
    vector: undefined,
    metadata: undefined,
    text: undefined,
    expected: versionOf(item),
    alone: true,
  };
}

/** Errors: commit_unknown, unless there is nothing to mend any more. */
function throwUnmended(error: unknown, left: ReadonlyMap<string, unknown>): void {
  if (!isQuiverError(error)) throw error;
  // Those of another model are made of what is there.
  if (error.kind === 'remodelled' || error.kind === 'not_found') return;
  const first = JSON.stringify([...left.keys()][0]);
  throw new QuiverError(
    'commit_unknown',
    `${error.message}; the write was applied, but vectors may be of fields of before, such as that of external_id ` +
      `${first}: upsert or patch it with "embed": true, without an Idempotency-Key or with another`,
    { cause: error },
  );
}

/** Of upserts that were done before, the versions of those whose vectors `unboundOf` would have named. */
export function repeatedOf(items: readonly VectorInput[], results: readonly ItemResult[]): ReadonlyMap<string, number> {
  const versions = new Map<string, number>();
  items.forEach(({ externalId, source, metadata, expected = -1 }, i) => {
    // The last one of an id counts.
    versions.delete(externalId);
    const { outcome, version } = results[i];
    const isStored = outcome === 'inserted' || outcome === 'updated';
    if (isStored && version !== null && source.vector === undefined && metadata === undefined && expected <= 0)
      versions.set(externalId, version);
  });
  return versions;
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
