import type { NodeCall, NodeShards } from '../../../node/replication/node-shards';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { operationsFromBytes } from '../../../shared/contract/writes/operation-codec';
import type { ShardId, WriteOperation, WriteResult } from '../../../shared/contract/shard/shard-client';
import type {
  AnswerOf,
  Hit,
  ReadKind,
  RequestOf,
  ScanRequest,
  StoredItem,
  VectorSearch,
} from '../../../shared/contract/shard/shard-read';
import type { WriteSource } from '../../../shared/contract/writes/write-source';

/** A node whose answers a test writes; each write is applied once by its name, as a real node does. */
export class ScriptedNodeShards implements NodeShards {
  /** What each call does first: wait, fail. */
  before: (call: NodeCall) => Promise<void> = async () => undefined;
  hits: (request: VectorSearch) => Hit[] = () => [];
  items: (request: ScanRequest) => StoredItem[] = () => [];
  /** Calls of search and scan that have begun. */
  reads = 0;
  readonly sources: WriteSource[] = [];
  readonly applied: WriteOperation[][] = [];
  private readonly results = new Map<string, WriteResult>();
  private readonly answers: { readonly [Kind in ReadKind]?: (request: RequestOf<Kind>) => AnswerOf<Kind> } = {
    search: (request) => ({ hits: this.hits(request), vectorCount: this.applied.length }),
    scan: (request) => this.items(request),
    count: () => this.applied.length,
  };

  async write(_id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult> {
    const { source } = request;
    this.sources.push(source);
    const name = `${source.session}/${source.requestNumber}`;
    if (!this.results.has(name)) {
      const operations = operationsFromBytes(request.payload);
      await this.before(call);
      this.applied.push(operations);
      this.results.set(name, { outcomes: operations.map(() => 'inserted'), firstVersion: 0, present: [] });
    }
    return this.results.get(name) as WriteResult;
  }

  async read<Kind extends ReadKind>(
    _id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): Promise<AnswerOf<Kind>> {
    if (kind !== 'count') this.reads += 1;
    await this.before(call);
    const answer = this.answers[kind];
    if (answer === undefined) throw new QuiverError('internal', 'not scripted');
    return answer(request);
  }
}
