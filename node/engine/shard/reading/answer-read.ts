import type {
  AnswerOf,
  IndexProgress,
  ReadKind,
  RequestOf,
  ShardStatus,
  ShardTransfer,
} from '../../../../shared/contract/shard/shard-read';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { inSlices } from '../../../../shared/base/time/work-slices';
import type { Filter } from '../../../../shared/contract/filter/filter';
import type { RecordStore } from '../../records/record-store';
import type { ShardBackups } from '../backup/shard-backups';
import type { SlotAllocator } from '../../directory/slot-allocator';
import type { ShardIndexes } from '../shard-indexes';
import type { ShardItems } from './shard-items';
import { keepTerms, termsFor } from './keyword-expansions';
import { orderedPlaces } from './ordered-places';
import { aggregatesOf } from './shard-aggregates';
import { boostNumbersOf } from './shard-boosts';
import { fieldFacts } from './shard-fields';
import { drawSample } from './shard-sample';
import type { ShardPurge } from '../removal/shard-purge';
import type { ShardSearch } from './shard-search';
import type { ShardCounters, ShardStageState } from '../writing/shard-writer';
import type { WritePace } from '../writing/write-pace';

/** The parts of an open shard that answer its reads. */
export interface ShardReader {
  search: ShardSearch;
  items: ShardItems;
  records: RecordStore;
  indexes: ShardIndexes;
  slots: SlotAllocator;
  counters: ShardCounters;
  stageState: ShardStageState;
  pace: WritePace;
  purge: ShardPurge;
  /** null: this process has no place for backups. */
  backups: ShardBackups | null;
}

/** How a shard answers each kind of read. */
const ANSWERS: {
  readonly [Kind in ReadKind]: (
    reader: ShardReader,
    request: RequestOf<Kind>,
  ) => AnswerOf<Kind> | Promise<AnswerOf<Kind>>;
} = {
  search: ({ search }, request) => search.search(request),
  score: ({ search }, request) => search.score(request),
  boostNumbers: ({ indexes }, request) => boostNumbersOf(indexes, request),
  keywordSearch: ({ search }, request) => search.keywordSearch(request),
  keywordStatistics: ({ indexes: { keywords } }, { terms, fieldWeights }) => {
    if (fieldWeights?.includes(0) !== true) return keywords.statistics(terms, fieldWeights);
    keepTerms(keywords);
    return inSlices(keywords.statisticsInSteps(terms, fieldWeights));
  },
  keywordExpansions: ({ indexes }, request) => termsFor(indexes.keywords, request),
  fetch: ({ items }, request) => items.fetch(request),
  scan: ({ items }, request) => items.scan(request),
  sample: (reader, request) => drawSample(reader, request),
  fields: ({ indexes }, question) => fieldFacts(indexes, question),
  // A shard that counts none begins above those of its items.
  lastVersion: ({ indexes, counters: { versions } }) =>
    versions.isCounting ? versions.last : indexes.directory.highestVersion(),
  count: ({ indexes }) => indexes.directory.liveCount,
  matches: ({ indexes }, { filter }) => countOf(indexes, filter),
  aggregate: ({ indexes }, { questions }) => aggregatesOf(indexes, questions),
  order: (reader, request) => orderedPlaces(reader, request),
  status: statusOf,
  optimize: ({ indexes }) => {
    indexes.vectors.optimize();
    indexes.phrases.positions?.make();
    return progressOf(indexes);
  },
  purge: ({ purge }, { start }) => purge.advance(start),
  transfer: transferOf,
  marks: async ({ records }, { token, after, limit }) => {
    if (token === null) return records.marks.after(after, limit);
    const found = await records.marks.ofShown(token);
    return found === null ? [] : [found];
  },
  backup: ({ backups }, order) => {
    if (backups === null)
      throw new QuiverError(
        'invalid_parameter',
        'there is no place for backups: BACKUP_TARGET is not set on the storage node',
      );
    return backups.advance(order);
  },
};

/** Answers a read of {@link ShardReads}. Errors: those of the part that answers. */
export function answerRead<Kind extends ReadKind>(
  reader: ShardReader,
  kind: Kind,
  request: RequestOf<Kind>,
): AnswerOf<Kind> | Promise<AnswerOf<Kind>> {
  return ANSWERS[kind](reader, request);
}

async function countOf({ filters }: ShardIndexes, filter: Filter): Promise<number> {
  await filters.prepare(filter);
  return filters.resolve(filter).size;
}

async function transferOf(
  { records, indexes, counters, stageState, pace }: ShardReader,
  { after, limit, writesPerSecond }: RequestOf<'transfer'>,
): Promise<ShardTransfer> {
  if (writesPerSecond !== undefined) pace.ask(writesPerSecond, performance.now());
  // Changes beyond it may be stored, and not be seen by reads yet.
  const { stage, term, reshard, since, lastChange, forgotten } = stageState.now;
  const changes = await records.changes(Math.max(after, forgotten), lastChange, limit);
  const last = changes.at(-1);
  return {
    stage,
    term,
    reshard,
    since,
    lastChange,
    externalIds: changes.map(({ externalId }) => externalId),
    upTo: last !== undefined && changes.length === limit ? last.change : lastChange,
    vectorCount: indexes.directory.liveCount,
    index: progressOf(indexes),
    lastVersion: counters.versions.last,
    lastMark: (await records.marks.usage()).lastSequence,
  };
}

async function statusOf({ records, indexes, counters }: ShardReader): Promise<ShardStatus> {
  const vectors = indexes.vectors.status();
  return {
    vectorCount: indexes.directory.liveCount,
    lastOperation: counters.lastOperation,
    lastStamp: indexes.directory.lastStamp,
    diskBytes:
      vectors.diskBytes +
      indexes.directory.diskBytes +
      ((await indexes.phrases.positions?.diskBytes) ?? 0) +
      (await records.sizeBytes()),
    memoryBytes:
      vectors.memoryBytes +
      indexes.directory.memoryBytes +
      indexes.filters.memoryBytes +
      indexes.keywords.memoryBytes +
      indexes.phrases.memoryBytes,
    segments: vectors.segments,
    index: progressOf(indexes),
  };
}

/** That of the vectors, until positions are there, too, where these are being made. */
function progressOf({ vectors, phrases }: ShardIndexes): IndexProgress {
  const { progress } = vectors.status();
  return phrases.positions?.isMaking === true ? { ...progress, optimizing: true } : progress;
}
