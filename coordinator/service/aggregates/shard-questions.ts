import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import {
  type AggregateAnswer,
  type AggregateAnswers,
  type AggregatePart,
  DISTINCT_MAX,
  SPREAD_LISTED_MAX,
  VALUES_BYTES_MAX,
} from '../../../shared/contract/shard/aggregate';

/** The answers of all shards to one part. */
export type AnswersTo<Type extends AggregatePart['type']> = Extract<AggregateAnswer, { type: Type }>[];

/** Asks all shards what they count of the items that pass a filter. */
export interface Asking {
  /** How many shards there are. */
  readonly shards: number;
  ask<Type extends AggregatePart['type']>(
    filter: Filter | null,
    part: Extract<AggregatePart, { type: Type }>,
  ): Promise<AnswersTo<Type>>;
}

/** Bytes that the answers of one read hold together, so that they fit into a message of 4 MiB. */
const READ_BYTES_MAX = 3.5 * 1024 * 1024;

/** About how many bytes the answer to a part has at most, where it has many. */
const ANSWER_BYTES: Record<AggregatePart['type'], (part: AggregatePart) => number> = {
  values: () => VALUES_BYTES_MAX + 256 * 1024,
  counts: (part) => (part.type === 'counts' ? 12 * part.values.length : 0),
  numbers: () => 1_024,
  spread: () => 40 * SPREAD_LISTED_MAX,
  distinct: () => 22 * DISTINCT_MAX,
  buckets: (part) => (part.type === 'buckets' ? 12 * part.edges.length : 0),
  times: () => 128,
};

interface OpenPart {
  filter: Filter | null;
  part: AggregatePart;
  done: (answers: AggregateAnswer[]) => void;
  fail: (error: unknown) => void;
}

/**
 * Gathers what is asked in one turn of the event loop into as few reads as have room for the answers: whoever asks need
 * not know of others.
 */
export class ShardQuestions implements Asking {
  private waiting: OpenPart[] = [];

  /** `read`: the answers of each shard that counts something. */
  constructor(
    readonly shards: number,
    private readonly read: (
      questions: { filter: Filter | null; parts: AggregatePart[] }[],
    ) => Promise<AggregateAnswers[]>,
  ) {}

  ask<Type extends AggregatePart['type']>(
    filter: Filter | null,
    part: Extract<AggregatePart, { type: Type }>,
  ): Promise<AnswersTo<Type>> {
    return new Promise((done, fail) => {
      if (this.waiting.length === 0) setImmediate(() => void this.flush());
      this.waiting.push({ filter, part, done: (answers) => done(answers as AnswersTo<Type>), fail });
    });
  }

  private async flush(): Promise<void> {
    const parts = this.waiting;
    this.waiting = [];
    for (const batch of batchesOf(parts)) {
      try {
        await this.send(batch);
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
  }

  private async send(batch: OpenPart[]): Promise<void> {
    const byFilter = new Map<Filter | null, OpenPart[]>();
    for (const open of batch) byFilter.set(open.filter, [...(byFilter.get(open.filter) ?? []), open]);
    const groups = [...byFilter];
    const answers = await this.read(groups.map(([filter, open]) => ({ filter, parts: open.map(({ part }) => part) })));
    for (const [i, [, open]] of groups.entries()) {
      for (const [j, { part, done }] of open.entries()) {
        const own = answers.flatMap((answer) => answer[i]?.[j] ?? []);
        if (own.some(({ type }) => type !== part.type))
          throw new QuiverError('internal', 'a shard answered another question about values');
        done(own);
      }
    }
  }
}

function batchesOf(parts: OpenPart[]): OpenPart[][] {
  const batches: OpenPart[][] = [];
  let bytes = Infinity;
  for (const open of parts) {
    const own = ANSWER_BYTES[open.part.type](open.part);
    if (bytes + own > READ_BYTES_MAX) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(open);
    bytes += own;
  }
  return batches;
}
