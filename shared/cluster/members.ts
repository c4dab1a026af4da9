import type { ShardId } from '../shard/shard-client';

/** What members keep in etcd is under it. */
export const STATE_PREFIX = '/q/';
/** Storage nodes, each entry living as long as the node's session. */
export const NODES_PREFIX = '/q/nodes/';
/** Coordinators, each entry living as long as the coordinator's session. */
export const COORDINATORS_PREFIX = '/q/coordinators/';
/** What operators want of a node, kept whether it runs or not. */
export const NODE_INTENTS_PREFIX = '/q/node-intents/';
/**
 * Coordinators that can't reach a node, as `<node>/<coordinator>`, each entry living as long as that is so: a node may hold
 * its session and be cut off from those who need it.
 */
export const SUSPICIONS_PREFIX = '/q/suspicions/';
/**
 * By node, the paths of the shards (assignmentPath) whose replica there failed or can't be opened, as a JSON list; living as
 * long as that is so. Such a node answers and holds its session, and must not lead these shards.
 */
export const FAILURES_PREFIX = '/q/failed-replicas/';
/** The coordinator that places shards; lives as long as its session. */
export const CONTROLLER_PATH = '/q/controller';

/** A storage node as it registers itself. */
export interface NodeMember {
  id: string;
  /** host:port of its gRPC services, as others reach it. */
  address: string;
  /** The data folder's own random id: a node that comes back with another one has lost its data. */
  store: string;
  /** By shardKey, the ids of shards whose data were lost or damaged there and begun anew: other stores than the node's. */
  stores?: Record<string, string>;
  /** Another one at each start. */
  incarnation: string;
  zone: string;
  pid: number;
  /** ISO 8601, UTC. */
  startedAt: string;
  /** The size of the disk under its data folder, and what that may still take: told again when it has changed by a hundredth. 0: unknown. */
  diskBytes: number;
  freeBytes: number;
  /** Replicas of shards beyond which it takes no more. Nodes of versions before there was a limit do not say it. */
  shardsMax?: number;
}

export interface CoordinatorMember {
  id: string;
  /** host:port of its API, as others reach it. */
  address: string;
  /** host:port of its gRPC service for other coordinators. */
  peerAddress: string;
  /** Another one at each start. */
  instance: string;
  pid: number;
  startedAt: string;
}

/** A node that drains gives its shards away and gets no new ones. */
export interface NodeIntent {
  draining: boolean;
}

/** How an entry of a node names a shard. */
export function shardKey({ collectionUid, shard }: ShardId): string {
  return `${collectionUid}/${shard}`;
}

/** The store that holds a shard's data on a node, if it holds any. */
export function storeOf(member: Pick<NodeMember, 'store' | 'stores'>, id: ShardId): string {
  return member.stores?.[shardKey(id)] ?? member.store;
}

/** Whether an entry lives as long as the session of the process that put it. */
export function isOfSession(key: string): boolean {
  return key === CONTROLLER_PATH || [NODES_PREFIX, COORDINATORS_PREFIX, SUSPICIONS_PREFIX, FAILURES_PREFIX].some((prefix) => key.startsWith(prefix));
}

/** The value of an entry of this page, as the process that registered it wrote it. Errors: SyntaxError. */
export function memberFromEntry<Member>(entry: { value: string }): Member {
  return JSON.parse(entry.value) as Member;
}
