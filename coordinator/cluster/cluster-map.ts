import {
  CONTROLLER_PATH,
  COORDINATORS_PREFIX,
  type CoordinatorMember,
  FAILURES_PREFIX,
  GONE_NODES_PREFIX,
  type GoneNode,
  KNOWN_NODES_PREFIX,
  type KnownNode,
  LATER_ASSIGNMENTS_PREFIX,
  memberFromEntry,
  NODE_INTENTS_PREFIX,
  type NodeIntent,
  NODES_PREFIX,
  type NodeMember,
  SUSPICIONS_PREFIX,
} from '../../shared/cluster-store/entries/members';
import {
  assignmentFromEntry,
  assignmentPath,
  ASSIGNMENTS_PREFIX,
  isLaterAssignment,
  type KnownAssignment,
  type ShardAssignment,
} from '../../shared/cluster-store/entries/shard-assignment';
import { tombstonePath, TOMBSTONES_PREFIX } from '../../shared/cluster-store/entries/tombstones';
import { WatchedEntries } from '../../shared/cluster-store/entries/watched-entries';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import type { Logger } from '../../shared/base/logs/logger';
import {
  collectionFromEntry,
  COLLECTIONS_PREFIX,
  type CollectionRecord,
} from '../service/collections/collection-record';
import {
  getsShards,
  isUntouched,
  reshardedToBe,
  reshardFromEntry,
  RESHARDS_PREFIX,
  type ReshardRecord,
} from '../service/collections/reshard-record';

/** What this process knows itself, among what members know; no node is called so. */
const OWN = '(this coordinator)';

/**
 * A coordinator's view of the cluster: members, what operators want of them, collections, and who holds their shards.
 * Watches keep it up to date. While the store is away, it stays as it was, and searches and writes go on with it.
 */
export class ClusterMap {
  readonly nodes: WatchedEntries<NodeMember>;
  readonly coordinators: WatchedEntries<CoordinatorMember>;
  readonly intents: WatchedEntries<NodeIntent>;
  /** Nodes that are away, and since when. */
  readonly gone: WatchedEntries<GoneNode>;
  /** What coordinators noted of nodes, for those who have not seen them. */
  readonly known: WatchedEntries<KnownNode>;
  readonly assignments: WatchedEntries<ShardAssignment>;
  readonly collections: WatchedEntries<CollectionRecord>;
  readonly reshards: WatchedEntries<ReshardRecord>;
  /** Nodes that coordinators can't reach; the value is the id of the coordinator. */
  readonly suspicions: WatchedEntries<string>;
  /** By node, the paths of shards whose replica on it failed. */
  readonly failures: WatchedEntries<string[]>;
  /** By node, the assignments that it knows where the shard map may hold earlier ones. */
  readonly later: WatchedEntries<KnownAssignment[]>;
  readonly tombstones: WatchedEntries<string>;
  /** The controller's election entry; the value is the id of the coordinator. */
  readonly controller: WatchedEntries<string>;
  private readonly everything: readonly WatchedEntries<unknown>[];
  /** Nodes as they were when this process last saw them. A node that lost its session by mistake still runs. */
  private readonly lastSeen = new Map<string, NodeMember>();
  /**
   * By path, the latest assignment of each shard that this process has seen: a store that was put back has earlier
   * ones.
   */
  private readonly latest = new Map<string, KnownAssignment>();
  /** What `behind` answered; null when that may have changed since. */
  private knownBehind: ReadonlyMap<string, ReadonlyMap<string, KnownAssignment>> | null = null;

  constructor(options: { store: ClusterStore; log: Logger }) {
    const { store } = options;
    const onUnreadable = (error: unknown): void =>
      options.log.error({ error }, 'an entry of the cluster store is unreadable and left out');
    this.nodes = new WatchedEntries({ store, prefix: NODES_PREFIX, decode: memberFromEntry<NodeMember>, onUnreadable });
    this.coordinators = new WatchedEntries({
      store,
      prefix: COORDINATORS_PREFIX,
      decode: memberFromEntry<CoordinatorMember>,
      onUnreadable,
    });
    this.intents = new WatchedEntries({
      store,
      prefix: NODE_INTENTS_PREFIX,
      decode: memberFromEntry<NodeIntent>,
      onUnreadable,
    });
    this.gone = new WatchedEntries({
      store,
      prefix: GONE_NODES_PREFIX,
      decode: memberFromEntry<GoneNode>,
      onUnreadable,
    });
    this.known = new WatchedEntries({
      store,
      prefix: KNOWN_NODES_PREFIX,
      decode: memberFromEntry<KnownNode>,
      onUnreadable,
    });
    this.assignments = new WatchedEntries({
      store,
      prefix: ASSIGNMENTS_PREFIX,
      decode: assignmentFromEntry,
      onUnreadable,
    });
    this.collections = new WatchedEntries({
      store,
      prefix: COLLECTIONS_PREFIX,
      decode: collectionFromEntry,
      onUnreadable,
    });
    this.reshards = new WatchedEntries({ store, prefix: RESHARDS_PREFIX, decode: reshardFromEntry, onUnreadable });
    this.controller = new WatchedEntries({
      store,
      prefix: CONTROLLER_PATH,
      decode: (entry) => entry.value,
      onUnreadable,
    });
    this.suspicions = new WatchedEntries({
      store,
      prefix: SUSPICIONS_PREFIX,
      decode: (entry) => entry.value,
      onUnreadable,
    });
    this.failures = new WatchedEntries({
      store,
      prefix: FAILURES_PREFIX,
      decode: (entry) => JSON.parse(entry.value) as string[],
      onUnreadable,
    });
    this.later = new WatchedEntries({
      store,
      prefix: LATER_ASSIGNMENTS_PREFIX,
      decode: (entry) => JSON.parse(entry.value) as KnownAssignment[],
      onUnreadable,
    });
    this.tombstones = new WatchedEntries({
      store,
      prefix: TOMBSTONES_PREFIX,
      decode: (entry) => entry.value,
      onUnreadable,
    });
    this.nodes.onChange(() => {
      for (const { value } of this.nodes.all()) this.lastSeen.set(value.id, value);
    });
    this.assignments.onChange(() => this.remember());
    for (const entries of [this.assignments, this.later]) entries.onChange(() => (this.knownBehind = null));
    this.everything = [
      this.nodes,
      this.coordinators,
      this.intents,
      this.gone,
      this.known,
      this.assignments,
      this.collections,
      this.reshards,
      this.suspicions,
      this.failures,
      this.later,
      this.tombstones,
      this.controller,
    ];
  }

  /** Reads the cluster's state and follows its changes. Errors: unavailable. */
  async follow(): Promise<void> {
    await Promise.all(this.everything.map((entries) => entries.follow()));
  }

  /**
   * The node as it last registered, whether it is present or not, and whether this process saw it or another
   * coordinator did; null if nobody noted it.
   */
  lastSeenNode(id: string): KnownNode | null {
    return this.lastSeen.get(id) ?? this.known.get(KNOWN_NODES_PREFIX + id)?.value ?? null;
  }

  /** The node as this process last saw it; null if it never did. */
  ownSightOf(id: string): NodeMember | null {
    return this.lastSeen.get(id) ?? null;
  }

  /** Ids of the nodes that hold a shard, or are to hold one. */
  holders(): Set<string> {
    return new Set(this.assignments.all().flatMap(({ value }) => value.replicas));
  }

  /** Nodes as they were when last seen, without those that drain. */
  usableNodes(): KnownNode[] {
    const draining = this.draining();
    const nodes = new Map<string, KnownNode>([
      ...this.known.all().map(({ value }) => [value.id, value] as const),
      ...this.lastSeen,
    ]);
    return [...nodes.values()].filter(({ id }) => !draining.has(id));
  }

  /**
   * Every set of shards that is to be placed and kept, as the collection that has it or will have it, with the entry
   * that says so. `isNew`: by that, nobody can have written to its shards yet.
   */
  shardSets(): { key: string; revision: number; record: CollectionRecord; isNew: boolean }[] {
    const own = this.collections
      .all()
      .map(({ key, revision, value }) => ({ key, revision, record: value, isNew: value.state === 'creating' }));
    const byIdentity = new Map(own.map((set) => [set.record.identity, set]));
    const coming = this.reshards.all().flatMap(({ key, revision, value }) => {
      const collection = byIdentity.get(value.identity)?.record;
      return collection === undefined || !getsShards(value) || collection.uid === value.to.uid
        ? []
        : [{ key, revision, record: reshardedToBe(collection, value), isNew: isUntouched(value) }];
    });
    return [...own, ...coming];
  }

  /** Ids of the nodes that drain. */
  draining(): Set<string> {
    return new Set(
      this.intents
        .all()
        .filter(({ value }) => value.draining)
        .map(({ key }) => key.slice(NODE_INTENTS_PREFIX.length)),
    );
  }

  /** Ids of the nodes that more than half of the coordinators can't reach. */
  unreachable(): Set<string> {
    const living = new Set(this.coordinators.all().map(({ value }) => value.id));
    const counts = new Map<string, number>();
    for (const { key, value } of this.suspicions.all()) {
      if (!living.has(value)) continue;
      const node = key.slice(SUSPICIONS_PREFIX.length).split('/')[0];
      counts.set(node, (counts.get(node) ?? 0) + 1);
    }
    return new Set([...counts].filter(([, count]) => count > living.size / 2).map(([node]) => node));
  }

  /** By a shard's path, the nodes whose replica of it failed. */
  failing(): Map<string, Set<string>> {
    const failing = new Map<string, Set<string>>();
    for (const { key, value } of this.failures.all()) {
      for (const path of value)
        failing.set(path, (failing.get(path) ?? new Set()).add(key.slice(FAILURES_PREFIX.length)));
    }
    return failing;
  }

  /**
   * By path, the shards for which the map holds an earlier assignment than nodes know, with what each of them knows:
   * the cluster store was put back from a backup. Found once for each change of the map, which may concern every shard.
   */
  behind(): ReadonlyMap<string, ReadonlyMap<string, KnownAssignment>> {
    return (this.knownBehind ??= this.findBehind());
  }

  /** What this process itself has seen of the shards for which the map now holds an earlier assignment. */
  ownLater(): KnownAssignment[] {
    return [...this.latest].filter(([path, known]) => this.isBehind(path, known)).map(([, known]) => known);
  }

  /**
   * The assignment by which nodes act: the latest that they know, where the map holds an earlier one. null: there is
   * none.
   */
  inForce(path: string): ShardAssignment | null {
    const found = this.assignments.get(path);
    if (found === null) return null;
    let latest: KnownAssignment = { assignment: found.value, revision: found.revision };
    for (const known of this.behind().get(path)?.values() ?? []) if (isLaterAssignment(known, latest)) latest = known;
    return latest.assignment;
  }

  /** Calls `listener` after every change of any part, until the function returned is called. */
  onChange(listener: () => void): () => void {
    const stops = this.everything.map((entries) => entries.onChange(listener));
    return () => stops.forEach((stop) => stop());
  }

  private findBehind(): Map<string, Map<string, KnownAssignment>> {
    const behind = new Map<string, Map<string, KnownAssignment>>();
    const note = (member: string, known: KnownAssignment): void => {
      const path = assignmentPath(known.assignment.spec);
      if (this.isBehind(path, known)) behind.set(path, (behind.get(path) ?? new Map()).set(member, known));
    };
    for (const { key, value } of this.later.all())
      for (const known of value) note(key.slice(LATER_ASSIGNMENTS_PREFIX.length), known);
    for (const known of this.ownLater()) note(OWN, known);
    return behind;
  }

  private isBehind(path: string, known: KnownAssignment): boolean {
    const found = this.assignments.get(path);
    return found !== null && isLaterAssignment(known, { assignment: found.value, revision: found.revision });
  }

  private remember(): void {
    for (const { key, value, revision } of this.assignments.all()) {
      const found = { assignment: value, revision };
      const known = this.latest.get(key);
      if (known === undefined || isLaterAssignment(found, known)) this.latest.set(key, found);
    }
    for (const [path, { assignment }] of this.latest) {
      if (
        this.assignments.get(path) === null &&
        this.tombstones.get(tombstonePath(assignment.spec.collectionUid)) !== null
      )
        this.latest.delete(path);
    }
  }

  close(): void {
    for (const entries of this.everything) entries.close();
  }
}
