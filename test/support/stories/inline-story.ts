import type { MessagePort } from 'node:worker_threads';
import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import type { ShardSpec } from '../../../shared/contract/shard/shard-client';
import { seededRandom } from '../values/random';

/**
 * What the writer of a shard and the threads that search it inline share. Each item has a number that rises with every
 * change: odd while the item lives, even while it does not (STEPS). `begun` is set before a write is sent, `answered`
 * after its answer. So an answer to a search must show each item between what was answered when it began and what was
 * begun when it ended.
 */
export interface InlineStory {
  spec: ShardSpec;
  seed: number;
  items: number;
  answered: SharedArrayBuffer;
  begun: SharedArrayBuffer;
  /** Int32: the phase, see PHASES; -1 ends the readers. */
  phase: SharedArrayBuffer;
  /** Int32: per phase the answers that this reader found inline, then per phase those that it did not. */
  counts: SharedArrayBuffer;
  port: MessagePort;
}

/** What is written meanwhile: new items alone; any change; nothing; the shard is dropped and made again. */
export const PHASES = ['inserts', 'changes', 'quiet', 'drops'] as const;

/** By how much each kind of change raises an item's number: an item whose number rose by 2 lived all the time. */
export const STEPS = { inserted: 3, replaced: 2, deleted: 1 };

export const DIM = 8;

/** The vector of an item at a change: always near the same place, which is far from that of every other item. */
export function vectorOf(item: number, change: number): Float32Array {
  const random = seededRandom(item * 7_919);
  const shifted = seededRandom(change);
  return Float32Array.from({ length: DIM }, () => random() * 2 - 1 + shifted() / 1_000);
}

/** What filters ask for of an item at a change; it differs from change to change. */
export function metadataOf(item: number, change: number): JsonObject {
  const random = seededRandom(item * 7_919 + change * 104_729);
  const below = (limit: number): number => Math.floor(random() * limit);
  const metadata: JsonObject = {
    change,
    kind: `k${below(4)}`,
    price: below(4_000) / 4,
    sold: below(2) === 0,
    tags: [`t${below(5)}`, below(5), null],
  };
  if (below(3) > 0) metadata.stock = { count: below(20), 'at.hand': below(3) };
  if (below(4) === 0) metadata['stock.count'] = below(20);
  if (below(5) > 0) metadata.date = `2024-0${1 + below(9)}-1${below(9)}`;
  return metadata;
}

/** A filter over those, as clients send it. */
export function filterOf(random: () => number, depth = 0): JsonObject {
  const below = (limit: number): number => Math.floor(random() * limit);
  const oneOf = <T>(...choices: T[]): T => choices[below(choices.length)];
  const kind = (): JsonValue => oneOf<JsonValue>('k0', 'k1', 'k2', 'k3', 'none', 3, null);
  const range = (bound: JsonValue): JsonObject => ({ [oneOf('$gt', '$gte', '$lt', '$lte')]: bound });
  if (depth < 3 && below(3) === 0) {
    const parts = Array.from({ length: 1 + below(3) }, () => filterOf(random, depth + 1));
    return oneOf<JsonObject>({ $and: parts }, { $or: parts }, { $not: parts[0] });
  }
  return oneOf<() => JsonObject>(
    () => ({ kind: kind() }),
    () => ({ kind: { $ne: kind() } }),
    () => ({ kind: { $in: [kind(), kind()] } }),
    () => ({ tags: { $nin: ['t1', below(5)] } }),
    () => ({ tags: oneOf<JsonValue>(`t${below(5)}`, below(5), null, ['t1', 2, null]) }),
    () => ({ price: range(below(1_000)), sold: below(2) === 0 }),
    () => ({ price: { $gte: below(500), $lt: 500 + below(500) } }),
    () => ({ 'stock.count': oneOf<JsonValue>(below(20), range(below(20))) }),
    () => ({ 'stock.at.hand': below(3) }),
    () => ({ stock: { $exists: below(2) === 0 } }),
    () => ({ date: range(`2024-0${1 + below(9)}`) }),
  )();
}
