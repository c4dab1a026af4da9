import type { FieldFacts, FieldFactsRequest } from '../../../shared/contract/shard/field-facts';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import type { FilterFacts } from '../service';

/** A field that some item had is taken to be there for so long; at worst, something is not told. */
const PRESENT_MS = 60_000;
/**
 * How dates are written is remembered for a moment alone, because the next item may be the first that is written
 * otherwise.
 */
const FORMS_MS = 1_000;
/** Fields that are remembered; then all are forgotten. */
const REMEMBERED_MAX = 10_000;
/** Shards of earlier versions don't know the question: a collection of theirs is not asked again for so long. */
const SILENT_MS = 10_000;

interface Remembered {
  untilMs: number;
  forms: string[] | null;
  formsUntilMs: number;
  /** Vectors of the collection when the forms were read. */
  total: number;
}

/**
 * Asks the shards which fields items have. What is remembered makes a filter that is used again cost next to nothing.
 */
export class FieldLookup {
  private readonly remembered = new Map<string, Remembered>();
  private readonly silentUntil = new Map<string, number>();

  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      clock: Clock;
    },
  ) {}

  /**
   * What the items of a collection have of what a filter asks for; null where not every shard could say it. `total`:
   * the vectors of the collection, as far as known, by which it is seen that something was added.
   */
  facts(name: string, question: FieldFactsRequest, total: number): FilterFacts | null | Promise<FilterFacts | null> {
    const collection = this.parts.catalog.known(name);
    const nowMs = this.parts.clock.monotonicMs();
    if (collection !== null) {
      if ((this.silentUntil.get(collection.uid) ?? 0) > nowMs) return null;
      const known = this.known(collection, question, total, nowMs);
      if (known !== null) return known;
    }
    return this.ask(name, question, total);
  }

  private known(
    collection: CollectionRecord,
    { paths, dates }: FieldFactsRequest,
    total: number,
    nowMs: number,
  ): FilterFacts | null {
    for (const path of paths) if (!((this.remembered.get(keyOf(collection, path))?.untilMs ?? 0) > nowMs)) return null;
    const forms: string[][] = [];
    for (const path of dates) {
      const field = this.remembered.get(keyOf(collection, path));
      if (field === undefined || field.forms === null || field.formsUntilMs <= nowMs || field.total !== total)
        return null;
      forms.push(field.forms);
    }
    return { isEmpty: false, missing: [], names: [], forms };
  }

  private async ask(name: string, question: FieldFactsRequest, total: number): Promise<FilterFacts | null> {
    const { catalog, scatter, sets, shards, clock } = this.parts;
    const collection = catalog.known(name) ?? (await catalog.find(name));
    const { paths, dates } = question;
    const call = scatter.begin();
    let answers: FieldFacts[];
    try {
      answers = await sets.inOne(collection, call, (current) =>
        scatter.readAll(current, call, (id) => shards.read(id, 'fields', question, call)),
      );
    } catch {
      // A field may be where nobody answered.
      if (this.silentUntil.size >= REMEMBERED_MAX) this.silentUntil.clear();
      this.silentUntil.set(collection.uid, clock.monotonicMs() + SILENT_MS);
      return null;
    }
    const nowMs = clock.monotonicMs();
    const forms = dates.map((_, i) => [...new Set(answers.flatMap((answer) => answer.forms[i] ?? []))]);
    const missing: string[] = [];
    for (const [i, path] of paths.entries()) {
      if (!answers.some(({ present }) => present[i] === true)) missing.push(path);
      else this.remember(collection, path, { untilMs: nowMs + PRESENT_MS });
    }
    for (const [i, path] of dates.entries())
      if (!missing.includes(path))
        this.remember(collection, path, { forms: forms[i], formsUntilMs: nowMs + FORMS_MS, total });
    const names = [...new Set(answers.flatMap((answer) => answer.names))];
    return { isEmpty: answers.every(({ items }) => items === 0), missing, names, forms };
  }

  private remember(collection: CollectionRecord, path: string, news: Partial<Remembered>): void {
    const key = keyOf(collection, path);
    const before = this.remembered.get(key) ?? { untilMs: 0, forms: null, formsUntilMs: 0, total: -1 };
    if (this.remembered.size >= REMEMBERED_MAX) this.remembered.clear();
    this.remembered.set(key, { ...before, ...news });
  }
}

/** Of another set of shards, or another collection of this name, it is another. */
function keyOf({ uid }: CollectionRecord, path: string): string {
  return `${uid} ${path}`;
}
