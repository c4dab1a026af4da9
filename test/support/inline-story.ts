import type { MessagePort } from 'node:worker_threads';
import type { ShardSpec } from '../../shared/shard/shard-client';
import { seededRandom } from './random';

/**
 * What the writer of a shard and the threads that search it inline share. Each item has a number that rises with every
 * change: odd while the item lives, even while it does not (STEPS). `begun` is set before a write is sent, `answered` after
 * its answer. So an answer to a search must show each item between what was answered when it began and what was begun when
 * it ended.
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

/** What is written meanwhile: new items alone; any change; nothing; the shard is dropped and made anew. */
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
