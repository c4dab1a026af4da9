import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import { isLongAnswer, type ReadKind, type RequestOf } from '../../../shared/contract/shard/shard-read';
import { operationsInSteps } from '../../../shared/contract/writes/operation-codec';
import { outcomesToBytes, versionsToBytes } from '../../../shared/wire/codecs/outcome-codec';
import { answerProfiled } from '../../../shared/contract/shard/profiled-call';
import { ownDeadline } from '../../../shared/base/time/shared-clock';
import { inSlices, inTurn, ownTurn } from '../../../shared/base/time/work-slices';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionEmbedder } from '../../service/collections/collection-embedder';
import type { QuotaAdmission } from '../../service/collections/quota-ledger';
import type { CollectionRecord } from '../../service/collections/collection-record';
import type { HttpServerParts } from '../http/http-server';
import type { AnsweredRequest } from '../http/observer';
import type { ProcessLimiter } from '../../service/limits/process-limiter';
import type { MetricsText } from '../endpoints/public-endpoints';
import type { StoreDedup } from '../../service/idempotency/store-dedup';
import type { ChatRequest, ChatStream, LanguageModels } from '../../models/language/language-model';
import type { AnswerFacts } from '../../service/answers-service';
import type { KeyWriter } from '../../service/keys/quota/key-quota';
import type { ArrivingFile, UploadedFile } from '../../service/service';
import { collectionNotFound } from '../../service/routing/collection-not-found';
import { mustHaveSameVectors } from '../../service/routing/shard-sets';
import { DeepReads, HITS_PER_ITEM } from '../../service/routing/deep-reads';
import { deepHandlers } from './http-thread-deep-reads';
import type { HttpThreads } from './http-threads';
import type { FilePiece } from './http-thread-services';
import {
  errorOf,
  HandedBack,
  handlersOf,
  type ThreadFailure,
  type ThreadHandlers,
  type ThreadPeer,
} from '../../../shared/base/threads/thread-peer';

/** What the main thread does for HTTP threads. */
export interface MainServices extends Pick<
  HttpServerParts,
  'service' | 'keys' | 'usage' | 'operations' | 'activity' | 'signIn' | 'observer' | 'clock'
> {
  addressLimiter: ProcessLimiter;
  /** Of keys: what is counted in this process. */
  localLimiter: ProcessLimiter;
  catalog: Pick<CollectionCatalog, 'find' | 'read' | 'uidOf'>;
  quotas: QuotaAdmission;
  embedder: Pick<CollectionEmbedder, 'embedQueries' | 'embedPassages' | 'settle'>;
  shardClient: Pick<ShardClient, 'read' | 'write'>;
  metricsText: MetricsText;
  /** Of all threads together. */
  deep: DeepReads;
  languageModels: LanguageModels;
  noteAnswer: (facts: AnswerFacts) => void;
}

/** A collection as an HTTP thread knows it; another one may have its name by now. */
type CollectionName = Pick<CollectionRecord, 'name' | 'identity'>;
type EmbeddingOf = CollectionName & Pick<CollectionRecord, 'vectorsSince'>;

/**
 * What an HTTP thread may ask, by name. What counts is asked of all threads before it is read. A change of a key or a
 * collection is known to all threads before whoever made it has the answer.
 */
export function httpThreadHandlers(main: MainServices, threads: HttpThreads, peer: () => ThreadPeer): ThreadHandlers {
  const { service, catalog, embedder, shardClient, keys, usage, operations, deep, clock } = main;
  const counts = {
    ...handlersOf('keys', keys, ['list', 'unreadable', 'get']),
    ...handlersOf('usage', usage, ['ofKey', 'summary']),
    ...handlersOf('keyQuotas', service.keyQuotas, ['usedOf']),
  };
  const callUntil = (deadline: number): CallOptions => ({ deadlineMs: ownDeadline(deadline, clock) });
  const keyChanges = handlersOf('keys', keys, ['create', 'update', 'rotate', 'delete']);
  const { create, update, setQuota, delete: drop } = service.collections;
  const known = async <Result>(change: Promise<Result>): Promise<Result> => {
    try {
      return await change;
    } finally {
      await threads.synced();
    }
  };
  const found = async ({ name, identity }: CollectionName): Promise<CollectionRecord> => {
    const record = await catalog.find(name);
    if (record.identity !== identity) throw collectionNotFound(name);
    return record;
  };
  const embedding = async (of: EmbeddingOf): Promise<CollectionRecord> => {
    const record = await found(of);
    mustHaveSameVectors(of, record);
    return record;
  };
  const write = async (payload: Uint8Array, id: ShardId, deadline: number): Promise<[Buffer, Buffer]> => {
    const call = callUntil(deadline);
    const operations = await inSlices(operationsInSteps(bufferOver(payload)));
    const result = await shardClient.write(id, operations, call);
    return [outcomesToBytes(result.outcomes), versionsToBytes(result)];
  };
  return {
    ...around(counts, async (read) => {
      await threads.flush();
      return read();
    }),
    ...around(keyChanges, async (change) => {
      await threads.flush();
      const result = await change();
      await threads.synced();
      return result;
    }),
    ...deepHandlers(deep, clock, peer),
    'metrics.text': main.metricsText,
    ...handlersOf('operations', operations, ['health', 'cluster', 'drain', 'undrain', 'adopt']),
    ...handlersOf('activity', main.activity, ['activity']),
    ...handlersOf('signIn', main.signIn, ['redeem']),
    ...handlersOf('localLimiter', main.localLimiter, ['window']),
    ...handlersOf('addressLimiter', main.addressLimiter, ['window']),
    ...handlersOf('collections', service.collections, [
      'list',
      'unreadable',
      'names',
      'get',
      'stats',
      'optimize',
      'purge',
      'reshard',
      'cancelReshard',
      'reembed',
    ]),
    ...handlersOf('aliases', service.aliases, ['list', 'change', 'settled', 'resolve']),
    ...handlersOf('backups', service.backups, [
      'create',
      'list',
      'restorable',
      'get',
      'delete',
      'verify',
      'restore',
      'restores',
      'restoreState',
      'cancelRestore',
    ]),
    ...handlersOf('jobs', service.jobs, ['list', 'get', 'cancel', 'pause', 'resume', 'switch', 'back']),
    ...handlersOf('outcomes', service.outcomes, ['find', 'refuse']),
    ...handlersOf('judgements', service.judgements, ['list', 'get', 'put', 'delete', 'evaluate']),
    ...handlersOf('recall', service.recall, ['check']),
    ...handlersOf('rerank', service.rerank, ['modelOf', 'score']),
    'languageModels.chat': async (request: ChatRequest) => {
      const stream: ChatStream = await main.languageModels.chat(request);
      return peer().offer({ [Symbol.asyncIterator]: () => stream });
    },
    'answers.note': main.noteAnswer,
    'collections.create': (...args: Parameters<typeof create>) => known(service.collections.create(...args)),
    'collections.update': (...args: Parameters<typeof update>) => known(service.collections.update(...args)),
    'collections.setQuota': (...args: Parameters<typeof setQuota>) => known(service.collections.setQuota(...args)),
    'collections.delete': (...args: Parameters<typeof drop>) => known(service.collections.delete(...args)),
    'demo.load': (writer?: KeyWriter) => known(service.demo.load(writer)),
    'documents.upload': (
      collection: string,
      file: { name: string; stream: number },
      dedup?: StoreDedup,
      writer?: KeyWriter,
    ) =>
      service.documents.upload(
        collection,
        { name: file.name, ...arriving(peer().drawn<FilePiece>(file.stream)) },
        dedup,
        writer,
      ),
    'documents.receive': (
      collection: string,
      { stream, ...file }: Omit<ArrivingFile, 'content'> & { stream: number },
    ) => service.documents.receive(collection, { ...file, content: arriving(peer().drawn<FilePiece>(stream)).content }),
    ...handlersOf('documents', service.documents, ['add', 'added', 'drop', 'list', 'get', 'delete']),
    ...handlersOf('quotas', main.quotas, ['reserve', 'settle', 'noteRefusal']),
    ...handlersOf('keyQuotas', service.keyQuotas, ['take', 'settle', 'giveBack', 'noteRefusal']),
    ...handlersOf('catalog', catalog, ['find', 'read', 'uidOf']),
    'embedder.embedQueries': async (of: EmbeddingOf, texts: string[]) =>
      embedder.embedQueries(await embedding(of), texts),
    'embedder.embedPassages': async (of: EmbeddingOf, texts: string[]) =>
      embedder.embedPassages(await embedding(of), texts),
    'embedder.settle': async (of: EmbeddingOf, model: string, texts: string[]) =>
      embedder.settle(await embedding(of), model, texts),
    // Given once in each round of the event loop, and in turn with all long work.
    turn: () => inTurn(() => undefined),
    'shards.read': <Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, deadline: number) => {
      const call = callUntil(deadline);
      const answer = deep.run(hitsOf({ kind, request } as AnyRead), call, () =>
        shardClient.read(id, kind, request, call),
      );
      return hasBound(request) ? answer.then(copiedInTurn) : answer;
    },
    'shards.profiledRead': <Kind extends ReadKind>(
      id: ShardId,
      kind: Kind,
      request: RequestOf<Kind>,
      deadline: number,
    ) =>
      answerProfiled(
        (profiled) => {
          const call = { ...callUntil(deadline), profiled };
          const answer = deep.run(hitsOf({ kind, request } as AnyRead), call, () =>
            shardClient.read(id, kind, request, call),
          );
          return hasBound(request) ? answer.then(copiedInTurn) : answer;
        },
        { kind, shard: id.shard, clock },
      ),
    'shards.write': write,
    // Once the write is done, nobody reads the operations any more: the vectors were views of them.
    'shards.writeLent': async (payload: Uint8Array, id: ShardId, deadline: number) =>
      new HandedBack([...(await write(payload, id, deadline)), payload], [payload.buffer as ArrayBuffer]),
    request: (facts: AnsweredRequest, failure: ThreadFailure | null) =>
      main.observer.requestAnswered({ ...facts, error: failure === null ? null : errorOf(failure) }),
  };
}

/** The handlers with something before and after each call of them. */
function around(handlers: ThreadHandlers, wrap: (call: () => unknown) => Promise<unknown>): ThreadHandlers {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [name, (...args: never[]) => wrap(() => handler(...args))]),
  );
}

type AnyRead = { [Kind in ReadKind]: { kind: Kind; request: RequestOf<Kind> } }[ReadKind];

/** Whether bytes of the answer are bounded, because it may be long. */
function hasBound(request: unknown): boolean {
  return (request as { bytesMax?: number } | null)?.bytesMax !== undefined;
}

/**
 * An answer is copied to the other thread as it is given: of many long ones that are ready together, a few in each
 * round of the event loop.
 */
function copiedInTurn<Answer>(answer: Answer): Answer | Promise<Answer> {
  return isLongAnswer(answer) ? (ownTurn()?.then(() => answer) ?? answer) : answer;
}

/** How many hits an answer may have: the deep ones of all threads wait for each other here, where they are built. */
function hitsOf(read: AnyRead): number {
  switch (read.kind) {
    case 'search':
    case 'keywordSearch':
      return read.request.k;
    case 'sample':
      return read.request.size;
    case 'score':
      return read.request.externalIds.length;
    case 'fetch':
      return read.request.externalIds.length * HITS_PER_ITEM;
    case 'scan':
      return read.request.limit * HITS_PER_ITEM;
    case 'order':
      return read.request.limit;
    case 'aggregate':
    case 'backup':
    case 'boostNumbers':
    case 'count':
    case 'fields':
    case 'keywordExpansions':
    case 'keywordStatistics':
    case 'lastVersion':
    case 'marks':
    case 'matches':
    case 'optimize':
    case 'purge':
    case 'status':
    case 'transfer':
      return 0;
  }
}

/** A file that comes from another thread, and what that said last of when it expires. */
function arriving(pieces: AsyncIterable<FilePiece>): Pick<UploadedFile, 'content' | 'expiresAt'> {
  let known: number | undefined;
  async function* content(): AsyncGenerator<Buffer> {
    for await (const { bytes, expiresAt } of pieces) {
      known = expiresAt;
      if (bytes.length > 0) yield bufferOver(bytes);
    }
  }
  return { content: content(), expiresAt: () => known };
}

/** Bytes that came from another thread are no Buffers any more. */
function bufferOver(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
