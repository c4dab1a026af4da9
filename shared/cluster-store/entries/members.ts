import type { VersionFields } from '../../base/process/member-version';
import type { ShardId } from '../../contract/shard/shard-client';

/** All entries that members keep in etcd start with this. */
export const STATE_PREFIX = '/q/';
/** Storage nodes. Each entry lives as long as the node's session. */
export const NODES_PREFIX = '/q/nodes/';
/** Coordinators. Each entry lives as long as the coordinator's session. */
export const COORDINATORS_PREFIX = '/q/coordinators/';
/**
 * Nodes that are away, with when they went. Kept until they are back, or for a day and as long as they hold a shard.
 */
export const GONE_NODES_PREFIX = '/q/gone-nodes/';
/**
 * What is known of each node, whether it is there or not: who starts while a node is away must know where it is, and
 * what its program is able to. Put by coordinators, and kept as long as the node is there, holds a shard, or is shown
 * as down.
 */
export const KNOWN_NODES_PREFIX = '/q/known-nodes/';
/** What operators want of a node. Kept whether the node runs or not. */
export const NODE_INTENTS_PREFIX = '/q/node-intents/';
/**
 * Coordinators that can't reach a node, as `<node>/<coordinator>`. Each entry exists as long as that is so. A node may
 * hold its session and still be cut off from those who need it.
 */
export const SUSPICIONS_PREFIX = '/q/suspicions/';
/**
 * By node, the paths of the shards (assignmentPath) whose replica on it failed or can't be opened, as a JSON list. The
 * entry exists as long as that is so. Such a node answers and holds its session, but must not lead these shards.
 */
export const FAILURES_PREFIX = '/q/failed-replicas/';
/**
 * By member (`<node>` or `coordinator/<id>`), the assignments that it knows of shards for which the shard map holds
 * earlier ones, as a JSON list of KnownAssignment. The entry exists as long as that is so: the cluster store was
 * restored from a backup. Everybody acts by the latest that anybody knows, and plans nothing until the map is repaired.
 */
export const LATER_ASSIGNMENTS_PREFIX = '/q/later-assignments/';
/** As many assignments fit well into one entry of the cluster store. The others follow when these are dealt with. */
export const LATER_ASSIGNMENTS_MAX = 1_000;
/** The coordinator that places shards. The entry lives as long as its session. */
export const CONTROLLER_PATH = '/q/controller';

/** A storage node as it registers itself. */
export interface NodeMember extends VersionFields {
  id: string;
  /** host:port at which other members reach it. */
  address: string;
  /** The random id of the data folder. A node that comes back with another one has lost its data. */
  store: string;
  /**
   * By shardKey, the store ids of shards whose data on this node were lost or damaged and begun again. Their stores
   * differ from the node's.
   */
  stores?: Record<string, string>;
  /** A new one at each start. */
  incarnation: string;
  zone: string;
  pid: number;
  /** ISO 8601, UTC. */
  startedAt: string;
  /**
   * Size of the disk under its data folder, and the free space on it. Published again when it has changed by a
   * hundredth. 0: unknown.
   */
  diskBytes: number;
  freeBytes: number;
  /**
   * The node takes no more replicas of shards than this. Absent in the entries of older versions, which had no limit.
   */
  shardsMax?: number;
}

/** What stays of a node's registration when it goes. */
export type KnownNode = Omit<NodeMember, 'incarnation' | 'startedAt' | 'diskBytes' | 'freeBytes'>;

/** The part of a node's entry that is to be known while it is away. */
export function knownOf({
  id,
  address,
  store,
  stores,
  zone,
  pid,
  shardsMax,
  protocol,
  oldestProtocol,
  features,
}: KnownNode): KnownNode {
  return {
    ...{ id, address, store, zone, pid },
    ...(stores !== undefined && { stores }),
    ...(shardsMax !== undefined && { shardsMax }),
    ...(protocol !== undefined && { protocol }),
    ...(oldestProtocol !== undefined && { oldestProtocol }),
    ...(features !== undefined && { features }),
  };
}

/** A node that is away, as it last was. */
export interface GoneNode extends Pick<NodeMember, 'id' | 'address' | 'zone' | 'pid'> {
  /** ISO 8601, UTC. */
  since: string;
}

export interface CoordinatorMember extends VersionFields {
  id: string;
  /** host:port of its API, as others reach it. */
  address: string;
  /** host:port at which other coordinators reach it. */
  peerAddress: string;
  /** A new one at each start. */
  instance: string;
  pid: number;
  startedAt: string;
  /** Names of its rerank models. Absent: it has none. */
  rerankModels?: readonly string[];
}

/** A node that drains gives its shards away and gets no new ones. */
export interface NodeIntent {
  draining: boolean;
  /** Since when (ISO 8601), and how many replicas the node held then. Missing from those of earlier versions. */
  since?: string;
  held?: number;
  /** The job that it is. Missing from those of earlier versions. */
  job?: string;
  /** When the node held nothing any more; absent: it is under way. */
  endedAt?: string;
}

/** How an entry of a node names a shard. */
export function shardKey({ collectionUid, shard }: ShardId): string {
  return `${collectionUid}/${shard}`;
}

/** The id of the store in which a node holds a shard's data, if it holds any. */
export function storeOf(member: Pick<NodeMember, 'store' | 'stores'>, id: ShardId): string {
  return member.stores?.[shardKey(id)] ?? member.store;
}

/** Whether there is such a member, and it holds a shard in that store. */
export function holdsIn<Member extends Pick<NodeMember, 'store' | 'stores'>>(
  member: Member | null | undefined,
  id: ShardId,
  store: string,
): member is Member {
  return member !== null && member !== undefined && storeOf(member, id) === store;
}

/** Whether the entry at `key` lives as long as the session of the process that put it. */
export function isOfSession(key: string): boolean {
  return (
    key === CONTROLLER_PATH ||
    [NODES_PREFIX, COORDINATORS_PREFIX, SUSPICIONS_PREFIX, FAILURES_PREFIX, LATER_ASSIGNMENTS_PREFIX].some((prefix) =>
      key.startsWith(prefix),
    )
  );
}

/** Parses the value of an entry of this file, as the process that registered it wrote it. Errors: SyntaxError. */
export function memberFromEntry<Member>(entry: { value: string }): Member {
  return JSON.parse(entry.value) as Member;
}
