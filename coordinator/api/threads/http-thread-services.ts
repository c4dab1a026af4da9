import type { Config } from '../../../shared/base/config/config';
import type { WritesEncoded } from '../../service/routing/encoded-writes';
import type { SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionRecord } from '../../service/collections/collection-record';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { CallProfiling } from '../../service/routing/call-profiling';
import type { OutcomesService } from '../../service/idempotency/store-dedup';
import type { QuotaAdmission } from '../../service/collections/quota-ledger';
import type { DeepReads } from '../../service/routing/deep-reads';
import { ProfiledShards } from '../../service/routing/profiled-shards';
import { ScatterGather } from '../../service/routing/scatter-gather';
import { StampClock } from '../../service/routing/stamp-clock';
import { AnswerService } from '../../service/answers/answer-service';
import type { AnswerFacts } from '../../service/answers-service';
import { ShardedAggregatesService } from '../../service/aggregates/sharded-aggregates-service';
import { ShardedSamplesService } from '../../service/sampling/sharded-samples-service';
import type { SearchObserver } from '../../service/search/search-observer';
import { ShardedSearchService } from '../../service/search/sharded-search-service';
import type {
  BackupsService,
  CollectionsService,
  DemoService,
  DocumentsService,
  KeyQuotasService,
  RecallService,
  Service,
} from '../../service/service';
import type { JobsService } from '../../service/jobs-service';
import type { JudgementsService } from '../../service/judgements-service';
import { ShardedVectorsService } from '../../service/vectors/sharded-vectors-service';
import type { AliasesService } from '../../service/aliases-service';
import { AliasNames, type AliasTenure } from '../../service/aliases/alias-names';
import { HttpThreadCatalog } from './http-thread-catalog';
import type { ChatPiece, LanguageModels } from '../../models/language/language-model';
import type { RerankProvider } from '../../models/rerank/reranker';
import { remote, type ThreadPeer } from '../../../shared/base/threads/thread-peer';

/**
 * The use cases on an HTTP thread. Searches, reads and writes of vectors run here, over the shards that the thread
 * reaches by itself. Collections, documents, checks of recall, the embedding of texts, reranking and calls of language
 * models are the main thread's.
 */
export function httpThreadServices(parts: {
  main: ThreadPeer;
  shards: Pick<ShardClient, 'read' | 'write'> & SearchesAtOnce & WritesEncoded;
  deep: Pick<DeepReads, 'run'>;
  clock: Clock;
  config: Pick<
    Config,
    'requestTimeoutMs' | 'llmBaseUrl' | 'llmModels' | 'llmTokensPerDay' | 'llmPromptCharacters' | 'llmTimeoutMs'
  >;
  stampMemory: BigInt64Array;
  observer: SearchObserver;
  profiling: CallProfiling;
  aliasTenure: AliasTenure;
  cursorSecret: string;
}): {
  service: Service;
  catalog: HttpThreadCatalog;
  aliasNames: AliasNames;
} {
  const { main, deep, clock, observer, profiling, cursorSecret } = parts;
  const shards = new ProfiledShards(parts.shards);
  const catalog = new HttpThreadCatalog(main);
  const collections = remote<CollectionsService>(main, 'collections');
  const { list, change, settled, resolve } = remote<AliasesService>(main, 'aliases');
  const isCollection = (name: string): boolean => catalog.known(name) !== null;
  const aliasNames = new AliasNames({ tenure: parts.aliasTenure, isCollection, ask: resolve });
  const scatter = new ScatterGather({
    clock,
    timeoutMs: parts.config.requestTimeoutMs,
    uidOf: ({ name, uid, identity }) => main.ask('catalog.uidOf', { name, uid, identity }),
    profiling,
  });
  const embedder: Pick<CollectionEmbedder, 'embedQueries' | 'embedPassages' | 'settle'> = {
    embedQueries: (of, texts) => main.ask('embedder.embedQueries', embeddingOf(of), texts),
    embedPassages: (of, texts) => main.ask('embedder.embedPassages', embeddingOf(of), texts),
    settle: (of, model, texts) => main.ask('embedder.settle', embeddingOf(of), model, texts),
  };
  const shared = { catalog, embedder, shards, scatter, deep, clock };
  const rerank = remote<RerankProvider>(main, 'rerank');
  const search = new ShardedSearchService({ ...shared, reranker: rerank, observer, cursorSecret });
  const samples = new ShardedSamplesService({ catalog, shards, scatter, deep, clock });
  const aggregates = new ShardedAggregatesService({ catalog, shards, scatter, search, clock });
  const quotas: QuotaAdmission = {
    reserve: ({ name }, write) => main.ask('quotas.reserve', { name }, write),
    settle: (reservation, items) => main.tell('quotas.settle', reservation, items),
    noteRefusal: () => main.tell('quotas.noteRefusal'),
  };
  const keyQuotas = httpThreadKeyQuotas(main);
  const vectors = new ShardedVectorsService({
    ...shared,
    quotas,
    keyQuotas,
    collections,
    stamps: new StampClock({ clock, last: parts.stampMemory }),
  });
  const models: LanguageModels = {
    chat: async (request) => main.taken<ChatPiece>(await main.ask<number>('languageModels.chat', request)),
  };
  const note = (facts: AnswerFacts): void => main.tell('answers.note', facts);
  const answers = new AnswerService({ search, models, keyQuotas, clock, config: parts.config, note });
  const own = { answers, search, samples, aggregates, vectors, collections, documents: httpThreadDocuments(main) };
  return {
    catalog,
    aliasNames,
    service: {
      ...own,
      aliases: { list, change, settled, resolve, names: aliasNames },
      recall: remote<RecallService>(main, 'recall'),
      demo: remote<DemoService>(main, 'demo'),
      backups: remote<BackupsService>(main, 'backups'),
      jobs: remote<JobsService>(main, 'jobs'),
      judgements: remote<JudgementsService>(main, 'judgements'),
      outcomes: remote<OutcomesService>(main, 'outcomes'),
      keyQuotas,
      rerank,
    },
  };
}

/** What the main thread finds a collection by, and that its vectors are of the same model. */
function embeddingOf({ name, identity, vectorsSince }: CollectionRecord) {
  return { name, identity, vectorsSince };
}

/** What keys store is counted on the main thread. */
function httpThreadKeyQuotas(main: ThreadPeer): KeyQuotasService {
  return {
    take: ({ identity, quota }, written, times) => main.ask('keyQuotas.take', { identity, quota }, written, times),
    settle: (charge, written) => main.tell('keyQuotas.settle', charge, written),
    giveBack: ({ identity, quota }, written, sinceMs) =>
      main.tell('keyQuotas.giveBack', { identity, quota }, written, sinceMs),
    noteRefusal: () => main.tell('keyQuotas.noteRefusal'),
    usedOf: ({ identity, quota }) => main.ask('keyQuotas.usedOf', { identity, quota }),
  };
}

function httpThreadDocuments(main: ThreadPeer): DocumentsService {
  const { add, added, drop, list, get, delete: remove } = remote<DocumentsService>(main, 'documents');
  return {
    add,
    added,
    drop,
    list,
    get,
    delete: remove,
    async receive(collection, { content, ...file }) {
      const sent = new SentFile(content);
      const stream = main.offer(sent);
      try {
        return await main.ask('documents.receive', collection, { ...file, stream });
      } catch (error) {
        throw sent.error ?? error;
      } finally {
        main.withdraw(stream);
      }
    },
    async upload(collection, { name, content, expiresAt }, dedup, writer) {
      const file = new SentFile(content, expiresAt);
      const stream = main.offer(file);
      try {
        return await main.ask('documents.upload', collection, { name, stream }, dedup, writer);
      } catch (error) {
        // What failed here came back as a copy.
        throw file.error ?? error;
      } finally {
        main.withdraw(stream);
      }
    },
  };
}

/** A part of a file, and when its chunks expire as far as that was known with it. */
export interface FilePiece {
  bytes: Uint8Array;
  expiresAt: number | undefined;
}

/** A file on its way, which remembers why it broke off. The last piece is empty: it says what was known at the end. */
class SentFile implements AsyncIterable<FilePiece> {
  error: unknown = null;

  constructor(
    private readonly content: AsyncIterable<Buffer>,
    private readonly expiresAt: () => number | undefined = () => undefined,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<FilePiece> {
    try {
      // A piece is a view of a larger buffer, all of which would be copied to the other thread.
      for await (const piece of this.content)
        yield { bytes: Uint8Array.prototype.slice.call(piece), expiresAt: this.expiresAt() };
      yield { bytes: new Uint8Array(0), expiresAt: this.expiresAt() };
    } catch (error) {
      this.error = error;
      throw error;
    }
  }
}
