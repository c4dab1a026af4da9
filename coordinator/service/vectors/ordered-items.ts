import type { Filter } from '../../../shared/contract/filter/filter';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import { itemBytes, type StoredItem } from '../../../shared/contract/shard/shard-read';
import type { AnswerHold } from '../answer-hold';
import { BlindReads, type DeepReads, HITS_PER_ITEM, hitsOfLength } from '../routing/deep-reads';
import { ReadLengths } from '../routing/read-lengths';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { groupByShard } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';

/** Ids that are asked for at once. */
const IDS_MAX = 1_000;
/** Bytes that one shard may answer with at least: fewer would cost more calls than they save memory. */
const SHARD_BYTES_MIN = 32 * 1024;
/** Bytes that all shards together answer with at once, unless it is said. */
const ROUND_BYTES = 512 * 1024;

/** What is wanted of each item. */
export interface WantedParts {
  vectors: boolean;
  /** Default: true. */
  texts?: boolean;
  versions?: boolean;
  expiries?: boolean;
  /** Items that do not pass it are as if they were not there. */
  filter?: Filter | undefined;
}

type ItemCollection = ShardedCollection & { dim: number };

/** Reads items in the order of their ids, as many at once as have so many bytes: the next when those were taken. */
export class OrderedItems<Collection extends ItemCollection> {
  /**
   * Bytes of what was answered for an id, by the collection's uid and whether with texts, as the last reads had them.
   */
  private readonly lengths = new ReadLengths(1);
  /** Of which nobody knows how long their items are. */
  private readonly blind = new BlindReads();

  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<Collection>;
      deep: Pick<DeepReads, 'run'>;
    },
  ) {}

  /**
   * Null for those that are not there; each as of a moment after it was asked for. Each read has a deadline that
   * `begin` gives. What is held is told to `hold`. Errors: overloaded, and those of the shards.
   */
  async *read(
    collection: Collection,
    externalIds: readonly string[],
    wanted: WantedParts,
    { begin, hold, roundBytes = ROUND_BYTES }: { begin: () => CallOptions; hold: AnswerHold; roundBytes?: number },
  ): AsyncGenerator<(StoredItem | null)[]> {
    const known = new Map<number, StoredItem | null>();
    let knownBytes = 0;
    const hasTexts = wanted.texts !== false;
    for (let given = 0; given < externalIds.length;) {
      // Of long items, all shards would answer with far more than is wanted at once.
      const places = Math.max(
        1,
        Math.min(IDS_MAX, Math.floor(roundBytes / (this.lengths.of(collection, hasTexts) ?? 1))),
      );
      const most = roundBytesMax(
        collection,
        Math.min(externalIds.length - given, places, collection.shards),
        wanted,
        hold,
        roundBytes,
      );
      // Whoever waits holds nothing meanwhile, or all might wait for each other.
      if (!hold.hasRoom(knownBytes + most)) {
        known.clear();
        knownBytes = 0;
        hold.keep(0);
      }
      const room = hold.reserve(knownBytes + most);
      if (room !== undefined) await room;
      // Shards answer as much each, and what one has may come long after what another has: then that is waited for.
      const asked = knownBytes > roundBytes ? [given] : this.nextPlaces(given, externalIds.length, known, places);
      const answered = await this.round(collection, externalIds, asked, wanted, begin(), roundBytes).then((items) =>
        added(known, items),
      );
      knownBytes += answered.bytes;
      this.lengths.note(collection, hasTexts, answered.count, answered.bytes);
      hold.keep(knownBytes);
      const page = takenFromPosition(known, given);
      given += page.items.length;
      if (page.items.length > 0) yield page.items;
      knownBytes -= page.bytes;
    }
  }

  private nextPlaces(from: number, end: number, known: ReadonlyMap<number, unknown>, most: number): number[] {
    const places: number[] = [];
    for (let place = from; place < end && places.length < most; place += 1) if (!known.has(place)) places.push(place);
    return places;
  }

  /** What the shards answer at once: of each, the first of its items, by their places. */
  private round(
    collection: Collection,
    externalIds: readonly string[],
    places: number[],
    { vectors, texts, versions, expiries, filter }: WantedParts,
    call: CallOptions,
    roundBytes: number,
  ): Promise<[number, StoredItem | null][]> {
    const { shards, scatter, sets, deep } = this.parts;
    const ask = async (current: Collection): Promise<[number, StoredItem | null][]> => {
      const groups = groupByShard(places, current.shards, (place) => externalIds[place]);
      const bytesMax = Math.max(SHARD_BYTES_MIN, Math.floor(roundBytes / groups.length));
      const answers = await scatter.read(
        current,
        groups.map(({ shard }) => shard),
        call,
        (id, i) =>
          shards.read(
            id,
            'fetch',
            {
              externalIds: groups[i].items.map((place) => externalIds[place]),
              vectors,
              texts,
              versions,
              expiries,
              bytesMax,
              filter,
            },
            call,
          ),
      );
      return groups.flatMap(({ items }, i) =>
        answers[i].map((item, j): [number, StoredItem | null] => [items[j], item]),
      );
    };
    const length = this.lengths.of(collection, texts !== false);
    const short = places.length * HITS_PER_ITEM;
    const read = (cost: number) =>
      deep.run(cost, call, () => sets[vectors ? 'ofModel' : 'inOne'](collection, call, ask));
    if (length !== undefined) return read(Math.max(short, hitsOfLength(places.length, length)));
    const cost = this.blind.costOf(short);
    return this.blind.run(() => read(cost));
  }
}

/** Notes what was answered, by its places. Answers how much that is. */
function added(
  known: Map<number, StoredItem | null>,
  answered: readonly [number, StoredItem | null][],
): { count: number; bytes: number } {
  let bytes = 0;
  for (const [place, item] of answered) {
    known.set(place, item);
    if (item !== null) bytes += itemBytes(item);
  }
  return { count: answered.length, bytes };
}

/** Takes the items at `first` and the places behind it, as far as they are known. */
function takenFromPosition(
  known: Map<number, StoredItem | null>,
  first: number,
): { items: (StoredItem | null)[]; bytes: number } {
  const items: (StoredItem | null)[] = [];
  let bytes = 0;
  for (let place = first; known.has(place); place += 1) {
    const item = known.get(place)!;
    known.delete(place);
    items.push(item);
    if (item !== null) bytes += itemBytes(item);
  }
  return { items, bytes };
}

/** The most that `shards` shards may answer at once: what they are asked for, and the last item of each. */
export function roundBytesMax(
  collection: { dim: number },
  shards: number,
  { vectors, texts }: Pick<WantedParts, 'vectors' | 'texts'>,
  hold: AnswerHold,
  roundBytes = ROUND_BYTES,
): number {
  const itemMax = hold.itemBytesMax(texts !== false) + (vectors ? collection.dim * Float32Array.BYTES_PER_ELEMENT : 0);
  return Math.max(roundBytes, shards * SHARD_BYTES_MIN) + shards * itemMax;
}
