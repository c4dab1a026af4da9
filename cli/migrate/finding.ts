/** What becomes of something of a peer that Quiver has not, or has in another form. */
export type Effect =
  /** It is not in Quiver afterwards. */
  | 'left out'
  /** It is there in another form. */
  | 'changed'
  /** It is there as it was, but does not do what it did. */
  | 'kept as data'
  /** Quiver does by itself what it was for. */
  | 'not needed'
  /** Somebody should look. */
  | 'check';

/** What a finding is about; the guide to migrating has a word on each. */
export type Topic =
  | 'aliases'
  | 'collection settings'
  | 'embedding model'
  | 'field types'
  | 'geo'
  | 'ids'
  | 'index settings'
  | 'items without a vector'
  | 'metric'
  | 'multi-vectors'
  | 'named vectors'
  | 'names'
  | 'nulls'
  | 'numbers'
  | 'partitions'
  | 'quantization'
  | 'references'
  | 'schema'
  | 'sparse vectors'
  | 'tenants'
  | 'text'
  | 'timestamps'
  | 'vector types';

export interface Finding {
  topic: Topic;
  effect: Effect;
  detail: string;
  /** Items that it is about, where they were counted. */
  items?: number;
}

/** Findings about items, counted while they are read; small enough to go into a checkpoint. */
export class ItemFindings {
  private readonly found: Map<string, Finding & { items: number }>;

  constructor(earlier: Finding[] = []) {
    this.found = new Map(earlier.map((finding) => [keyOf(finding), { ...finding, items: finding.items ?? 0 }]));
  }

  /** One more item about which this holds. `detail` is of few kinds: it must not name the item. */
  add(topic: Topic, effect: Effect, detail: string): void {
    const key = keyOf({ topic, effect, detail });
    const known = this.found.get(key);
    if (known === undefined) this.found.set(key, { topic, effect, detail, items: 1 });
    else known.items += 1;
  }

  /** Adds those of another list. */
  addAll(others: Finding[]): void {
    for (const { items = 0, ...finding } of others) {
      const known = this.found.get(keyOf(finding));
      if (known === undefined) this.found.set(keyOf(finding), { ...finding, items });
      else known.items += items;
    }
  }

  list(): Finding[] {
    return [...this.found.values()].map((finding) => ({ ...finding }));
  }
}

function keyOf({ topic, effect, detail }: Finding): string {
  return `${topic}\n${effect}\n${detail}`;
}
