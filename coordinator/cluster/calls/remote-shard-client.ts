import type { Feature } from '../../../shared/base/process/member-version';
import type { Filter } from '../../../shared/contract/filter/filter';
import { filtersOfBoosts } from '../../../shared/contract/shard/boosts';
import type { KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import { needsAny } from './filter-features';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ClusterCredentials, StreamEnd } from '../../../shared/wire/streams/rpc-channel';
import { notInTime } from '../../../shared/contract/shard/not-in-time';
import {
  isDated,
  operationCountOf,
  operationsToBytes,
  setDated,
} from '../../../shared/contract/writes/operation-codec';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  ShardSpec,
  WriteOperation,
  WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, KeywordSearch, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { EncodedWrite, WritesEncoded } from '../../service/routing/encoded-writes';
import { FollowerReads } from './follower-reads';
import type { NamedWrite } from './node-link';
import { NodeLinks } from './node-links';
import { type OpenCall, OpenCalls } from './open-calls';
import { OpenWrites } from './open-writes';
import { RoutedCalls, type Verdict, isLost, kindOf } from './routed-calls';
import type { ShardRoute, ShardRoutes } from './shard-routes';

/** Makes and removes shards: the client leaves that to the cluster's controller. Calls as in ShardClient. */
export interface ShardPlacement {
  open(spec: ShardSpec): Promise<void>;
  drop(id: ShardId): Promise<void>;
}

/** How long a read is sent again while its node can't be reached: enough for a change of primaries. */
const READ_RETRY_MS = 7_000;

/** A write as it is sent. */
interface WritePayload {
  /** Of operations. */
  count: number;
  /** The bytes, the same for each attempt. `dated`: versions are to tell when items changed. */
  forAttempt(dated: boolean): Buffer;
  /** Those by which an operation is decided. */
  filters(): Filter[];
}

/** The same with its name. */
interface RepeatedWrite extends Omit<WritePayload, 'count'> {
  name: Omit<NamedWrite, 'payload'>;
}

/** Most operations of a write, so that its outcomes fit into one message. */
const WRITE_OPERATIONS_MAX = 3_000_000;

/**
 * The ShardClient for shards on other nodes; it calls each shard's primary, and for reads also in-sync followers while
 * that is busy. Reads are repeated while the primary can't be reached or has changed. So are writes, each under one
 * name, so that it is applied once.
 */
export class RemoteShardClient implements ShardClient, WritesEncoded {
  private readonly placement: ShardPlacement;
  private readonly session: string;
  private readonly clock: Clock;
  private readonly readRetryMs: number;
  private readonly links: NodeLinks;
  private readonly calls: OpenCalls;
  private readonly routes: ShardRoutes;
  private readonly routed: RoutedCalls;
  private readonly followers: FollowerReads;
  private readonly ledger = new OpenWrites();

  /**
   * `session` must never have been used before: nodes remember its writes. `linkEnded` is called for each connection
   * that ends.
   */
  constructor(parts: {
    routes: ShardRoutes;
    placement: ShardPlacement;
    session: string;
    credentials: ClusterCredentials;
    clock: Clock;
    readRetryMs?: number;
    linkEnded?: (address: string, end: StreamEnd) => void;
  }) {
    this.placement = parts.placement;
    this.session = parts.session;
    this.clock = parts.clock;
    this.readRetryMs = parts.readRetryMs ?? READ_RETRY_MS;
    this.links = new NodeLinks({ credentials: parts.credentials, clock: parts.clock, ended: parts.linkEnded });
    this.calls = new OpenCalls({ clock: parts.clock });
    this.routes = parts.routes;
    this.followers = new FollowerReads({ links: this.links, clock: parts.clock });
    this.routed = new RoutedCalls({ routes: parts.routes, links: this.links, clock: parts.clock });
  }

  /** The controller has every shard of a collection made; which data a node must have for it, the shard map says. */
  make(spec: ShardSpec): Promise<void> {
    return this.placement.open(spec);
  }

  open(spec: ShardSpec): Promise<void> {
    return this.placement.open(spec);
  }

  drop(id: ShardId): Promise<void> {
    return this.placement.drop(id);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    // Once it can be sent: every copy of a write is the same.
    let bytes: Buffer | null = null;
    const forAttempt = (dated: boolean): Buffer =>
      bytes === null || isDated(bytes) !== dated ? (bytes = operationsToBytes(operations, dated)) : bytes;
    const filters = (): Filter[] => operations.flatMap(filtersOf);
    return this.writeNamed(id, { count: operations.length, forAttempt, filters }, call);
  }

  /** They are sent as they are. Of a write that was sent several times, a connection may keep a copy. */
  async writeEncoded(id: ShardId, bytes: Buffer, call: CallOptions): Promise<EncodedWrite> {
    let attempts = 0;
    const forAttempt = (dated: boolean): Buffer => {
      attempts += 1;
      if (isDated(bytes) !== dated) setDated(bytes, dated);
      return bytes;
    };
    const result = await this.writeNamed(id, { count: operationCountOf(bytes), forAttempt, filters: () => [] }, call);
    return { result, bytes, isShared: attempts > 1 };
  }

  private async writeNamed(
    id: ShardId,
    { count, forAttempt, filters }: WritePayload,
    call: CallOptions,
  ): Promise<WriteResult> {
    if (count > WRITE_OPERATIONS_MAX)
      throw new QuiverError('limit_exceeded', `a write takes at most ${WRITE_OPERATIONS_MAX} operations`);
    const named = this.ledger.begin(id);
    let wasSent = false;
    const name = {
      session: this.session,
      requestNumber: named.requestNumber,
      settledBelow: named.settledBelow,
      sent: () => (wasSent = true),
    };
    try {
      return await this.calls.run(
        call.deadlineMs,
        (open) => {
          open.profiled = call.profiled;
          return this.writeUntilDone(id, { forAttempt, filters, name }, open);
        },
        () => (wasSent ? unconfirmed(id) : notInTime(id)),
      );
    } finally {
      named.settle();
    }
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    return this.calls.run(
      call.deadlineMs,
      (open) => {
        open.profiled = call.profiled;
        const route = this.routes.route(id);
        const follower = this.followers.choose(id, kind, route);
        if (follower !== null && route?.lacking !== undefined)
          mustBeKnown(id, kind, filtersOf(request), route.lacking, request);
        return follower === null
          ? this.readUntilDone(id, kind, request, open, route)
          : this.readFromFollower(follower, id, kind, request, open);
      },
      () => notInTime(id),
    );
  }

  /** What waits in the client: calls without an answer, and bytes of calls that are not sent yet. */
  get load(): { open: number; queuedBytes: number } {
    return { open: this.calls.count, queuedBytes: this.links.queuedBytes };
  }

  /** Ends all calls, as if their deadlines had passed, and all connections. */
  close(): void {
    this.calls.close();
    this.links.close();
  }

  private async readFromFollower<Kind extends ReadKind>(
    follower: string,
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    open: OpenCall,
  ): Promise<AnswerOf<Kind>> {
    const found = await this.followers.read(follower, id, kind, request, open);
    if (found !== null) return found.answer;
    if (open.isOver) throw notInTime(id);
    return this.readUntilDone(id, kind, request, open);
  }

  private readUntilDone<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    open: OpenCall,
    known?: ShardRoute | null,
  ): Promise<AnswerOf<Kind>> {
    let retryUntilMs = 0;
    const judge = (error: unknown): Verdict => {
      if (!isLost(error)) return kindOf(error) === 'misrouted' ? 'rerouted' : 'final';
      const nowMs = this.clock.monotonicMs();
      if (retryUntilMs === 0) retryUntilMs = nowMs + this.readRetryMs;
      return nowMs < retryUntilMs ? 'again' : 'final';
    };
    return this.routed.run(
      id,
      open,
      (link, to, route) => {
        if (route.lacking !== undefined) mustBeKnown(id, kind, filtersOf(request), route.lacking, request);
        return link.read(to, kind, request);
      },
      judge,
      known,
    );
  }

  private writeUntilDone(id: ShardId, write: RepeatedWrite, open: OpenCall): Promise<WriteResult> {
    const { forAttempt, filters, name } = write;
    let isInDoubt = false;
    const judge = (error: unknown): Verdict => {
      const kind = kindOf(error);
      if (kind === 'misrouted') return 'rerouted';
      if (isLost(error) || kind === 'commit_unknown') {
        isInDoubt ||= !isLost(error) || error.wasSent;
        return 'again';
      }
      // An earlier copy of the write may have been applied, and a node that can't accept this copy says nothing about
      // that. So ask again.
      return isInDoubt && (kind === 'unavailable' || kind === 'overloaded') ? 'again' : 'final';
    };
    return this.routed.run(
      id,
      open,
      (link, to, route) => {
        if (route.lacking !== undefined) mustBeKnown(id, 'write', filters(), route.lacking);
        return link.write(to, { ...name, payload: forAttempt(route.lacking?.includes('updated-filter') !== true) });
      },
      judge,
    );
  }
}

function unconfirmed(id: ShardId): QuiverError {
  return new QuiverError(
    'commit_unknown',
    `shard ${id.shard} did not confirm the write in time: it is stored once or not at all; it is safe to try again`,
  );
}

/** The filters of a read, of its questions, its boosts or the units of its plan, or of an operation. */
function filtersOf(request: object | null): Filter[] {
  const {
    filter,
    questions = [],
    plan,
    boosts,
  } = (request ?? {}) as Partial<Pick<KeywordSearch, 'filter' | 'plan' | 'boosts'>> & {
    questions?: object[];
  };
  return [
    ...(filter === undefined || filter === null ? [] : [filter]),
    ...(boosts === undefined ? [] : filtersOfBoosts(boosts)),
    ...questions.flatMap(filtersOf),
    ...(plan === undefined
      ? []
      : plan.units.flatMap(({ filter: own, meanings = [] }) =>
          [own ?? [], ...meanings.map((one) => one.filter ?? [])].flat(),
        )),
  ];
}

/** The kinds of reads that not every node knows, by the name of the feature. */
const FEATURES_OF_READS: Partial<Record<ReadKind, Feature>> = {
  aggregate: 'aggregates',
  keywordExpansions: 'keyword-plans',
  lastVersion: 'list-parts',
  order: 'ordered-scroll',
};

/** Whether a unit is one of those that only fields with analysers of their own need. */
function isOfFieldAnalysers({ isFree, meanings }: KeywordUnit): boolean {
  return isFree !== undefined || meanings?.some(({ isSum }) => isSum !== undefined) === true;
}

/** What a node has to know for a read. */
function featuresOf(kind: ReadKind | 'write', { plan, fieldWeights, part, boosts }: Partial<KeywordSearch>): Feature[] {
  const features: Feature[] = fieldWeights === undefined ? [] : ['field-weights'];
  if (part !== undefined) features.push('list-parts');
  if (boosts !== undefined) features.push('boosts');
  if (part !== undefined && boosts !== undefined) features.push('boosted-parts');
  const feature = FEATURES_OF_READS[kind as ReadKind];
  if (feature !== undefined) features.push(feature);
  if (kind !== 'keywordSearch' || plan === undefined) return features;
  if (plan.units.some(isOfFieldAnalysers)) return [...features, 'field-analysers'];
  const hasMeanings = plan.units.some(({ meanings }) => meanings !== undefined);
  return [...features, hasMeanings ? 'synonyms' : 'keyword-plans'];
}

/** Errors: unavailable where a node would not understand the call, or its filters. */
function mustBeKnown(
  id: ShardId,
  kind: ReadKind | 'write',
  filters: Filter[],
  lacking: readonly string[],
  request: object | null = null,
): void {
  const unknown = featuresOf(kind, (request ?? {}) as Partial<KeywordSearch>).find((one) => lacking.includes(one));
  if (unknown === undefined && !filters.some((filter) => needsAny(filter, lacking))) return;
  throw new QuiverError(
    'unavailable',
    `a node that has shard ${id.shard}, or may get it, is of an earlier version, which does not know ` +
      `${unknown ?? 'all conditions of the filter'}: use them when every node is upgraded`,
  );
}
