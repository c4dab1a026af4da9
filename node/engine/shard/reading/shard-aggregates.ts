import { inSlices } from '../../../../shared/base/time/work-slices';
import type {
  AggregateAnswer,
  AggregateAnswers,
  AggregatePart,
  AggregateQuestion,
} from '../../../../shared/contract/shard/aggregate';
import type { CountedSlots } from '../../filter/listed-counts';
import { readCounts } from '../../filter/read-counts';
import type { SlotSet } from '../../slots/slot-set';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import { parsedMetadata, type ShardIndexes } from '../shard-indexes';

/** What is counted of one question. */
interface Counted extends CountedSlots {
  /** Those of its items that are in no list of the filter index. */
  unlisted: Uint32Array;
}

/**
 * Counts what items have under paths of their metadata: by the lists of the filter index, and where an item is in none,
 * by its metadata, which makes a second answer. A part takes some milliseconds for a million items; others are served
 * between two parts. An item that is written meanwhile may count in one and not in another.
 */
export async function aggregatesOf(indexes: ShardIndexes, questions: AggregateQuestion[]): Promise<AggregateAnswers> {
  const answers: AggregateAnswers = [];
  for (const question of questions) {
    if (question.filter !== null) await indexes.filters.prepare(question.filter);
    answers.push(await inSlices(answersTo(indexes, question)));
  }
  return answers;
}

function* answersTo(indexes: ShardIndexes, question: AggregateQuestion): Generator<undefined, AggregateAnswer[][]> {
  const answers: AggregateAnswer[][] = [];
  const { filters } = indexes;
  for (const part of question.parts) {
    // Found again where others were served since: slots may have got other items.
    const counted = countedBy(indexes, question);
    const own = [filters.counts.answer(withHashes(part, counted), counted)];
    if (counted.unlisted.length > 0) own.push(yield* read(indexes, part, counted.unlisted));
    answers.push(own);
    yield;
  }
  return answers;
}

/** Two answers are added up by the hashes of their values. */
function withHashes(part: AggregatePart, { unlisted }: Counted): AggregatePart {
  return part.type === 'distinct' && unlisted.length > 0 ? { ...part, hashes: true } : part;
}

function countedBy(
  { directory, filters }: ShardIndexes,
  { filter, externalIds }: Pick<AggregateQuestion, 'filter' | 'externalIds'>,
): Counted {
  let slots: SlotSet | null = filter === null ? null : filters.resolve(filter);
  if (externalIds !== null) {
    const named = externalIds.map((id) => directory.slotOf(id)).filter((slot) => slot >= 0);
    slots = ChunkedSlotSet.fromArray(named.filter((slot) => slots === null || slots.has(slot)));
  }
  const { unlistedSlots } = filters;
  const unlisted =
    unlistedSlots.size === 0
      ? new Uint32Array(0)
      : unlistedSlots.toArray().filter((slot) => slots === null || slots.has(slot));
  const size = (slots === null ? directory.liveCount : slots.size) - unlisted.length;
  return { bitmap: slots === null ? null : slots.toBitmap(0), size, unlisted };
}

function* read(
  { directory, filters }: ShardIndexes,
  part: AggregatePart,
  slots: Uint32Array,
): Generator<undefined, AggregateAnswer> {
  const metadata = [];
  for (const slot of slots) {
    if (directory.isLive(slot)) metadata.push(parsedMetadata(directory.metadataOf(slot)));
    yield;
  }
  const distinct = part.type === 'distinct' ? { ...part, hashes: true } : part;
  return readCounts(distinct, metadata, (value) => filters.counts.hashOf(value));
}
