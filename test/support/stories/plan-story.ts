import { type CollectionRecord, defaultMinInSync } from '../../../coordinator/service/collections/collection-record';
import { planChanges } from '../../../coordinator/cluster/placement/plan';
import type { NodeMember } from '../../../shared/cluster-store/entries/members';
import {
  assignmentPath,
  type ReplicaId,
  type ShardAssignment,
  withMoveEnded,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { Interpreter, ScriptCommand } from './golden-script';

/** More than any story has before it comes to rest. */
const ROUNDS_MAX = 100;
const DISK_BYTES = 1000;

/**
 * A cluster whose controller makes every planned change at once, told by commands:
 *
 *   node a … [zone=] [free=<of 1000>] [shards-max=] [store=]   nodes are there, with what they say of themselves
 *   lose a … | away a ms=                                      a node ends; how long it has been away
 *   reprieve a …                                               nodes that lost their sessions a moment ago; none:
 *   nobody did behind books/0 …                                           shards of which nodes know a later
 *   assignment; none: of no shard drain a | undrain a | unreachable a … | reachable a …
 *   failing books/0 a …                                        nodes whose replica of the shard failed; none: all are
 *   well collection books shards= replicas= [min-in-sync=] [new=yes]   wanted from now on, or wanted otherwise than
 *   before shrink books/0 a …                                         replicas leave the in-sync set; eligible if too
 *   few are left round | catch-up | settle                                  what is planned; what primaries do
 *   meanwhile; both until nothing is left map | load                                                 every shard's
 *   assignment; replicas and primaries of each node
 */
export function planStory(): Interpreter {
  const story = new PlanStory();
  return (command) => story.carryOut(command);
}

class PlanStory {
  private readonly assignments = new Map<string, { assignment: ShardAssignment; revision: number }>();
  private readonly members = new Map<string, NodeMember>();
  private readonly collections = new Map<string, CollectionRecord>();
  private readonly isNew = new Set<string>();
  private readonly draining = new Set<string>();
  private reprieved = new Set<string>();
  private behind = new Set<string>();
  private readonly unreachable = new Set<string>();
  private readonly failing = new Map<string, Set<string>>();
  private readonly awayMs = new Map<string, number>();
  private revision = 0;

  carryOut({ name, words, options }: ScriptCommand): string[] {
    switch (name) {
      case 'node':
        for (const id of words) this.register(id, options);
        return [];
      case 'lose':
        for (const id of words) this.members.delete(id);
        return [];
      case 'away':
        for (const id of words) this.awayMs.set(id, Number(options.ms));
        return [];
      case 'reprieve':
        this.reprieved = new Set(words);
        return [];
      case 'behind':
        this.behind = new Set(words.map(pathOf));
        return [];
      case 'drain':
        for (const id of words) this.draining.add(id);
        return [];
      case 'undrain':
        for (const id of words) this.draining.delete(id);
        return [];
      case 'unreachable':
        for (const id of words) this.unreachable.add(id);
        return [];
      case 'reachable':
        for (const id of words) this.unreachable.delete(id);
        return [];
      case 'failing': {
        const [shard, ...nodes] = words;
        this.failing.set(pathOf(shard), new Set(nodes));
        return [];
      }
      case 'shrink':
        return this.shrink(words[0], words.slice(1));
      case 'collection':
        this.want(words[0], options);
        return [];
      case 'round':
        return orNothing(this.round());
      case 'catch-up':
        return orNothing(this.catchUp());
      case 'settle':
        return orNothing(this.settle());
      case 'map':
        return orNothing(this.inOrder().map((assignment) => `${shardOf(assignment)}: ${told(assignment)}`));
      case 'load':
        return [...this.members.keys()].map((id) => this.loadOf(id));
      default:
        throw new Error(`no such command: ${name}`);
    }
  }

  private register(
    id: string,
    { zone = '', free = '', store = `${id}-store`, 'shards-max': shardsMax }: Record<string, string>,
  ): void {
    const disk = free === '' ? { diskBytes: 0, freeBytes: 0 } : { diskBytes: DISK_BYTES, freeBytes: Number(free) };
    const most = shardsMax === undefined ? {} : { shardsMax: Number(shardsMax) };
    this.members.set(id, {
      id,
      address: `${id}:7000`,
      store,
      incarnation: '1',
      zone,
      pid: 1,
      startedAt: '',
      ...disk,
      ...most,
    });
    this.awayMs.delete(id);
  }

  private want(name: string, options: Record<string, string>): void {
    const [shards, replicas] = [Number(options.shards), Number(options.replicas)];
    const minInSync = Number(options['min-in-sync'] ?? defaultMinInSync(replicas));
    const rest = {
      dim: 3,
      metric: 'cosine',
      description: null,
      language: null,
      quantization: 'int8',
      createdAt: '',
      embeddingModel: null,
      state: 'ready',
    } as const;
    if (options.new === 'yes') this.isNew.add(name);
    else this.isNew.delete(name);
    this.collections.set(name, { uid: name, identity: name, name, shards, replicas, minInSync, ...rest });
  }

  /** What the plan changes, made by compare-and-swap as the controller does. */
  private round(): string[] {
    const { reprieved, behind, unreachable, failing, draining, awayMs } = this;
    const changes = planChanges({
      collections: [...this.collections.values()].map((record) => ({
        record,
        revision: 1,
        isNew: this.isNew.has(record.name),
      })),
      assignments: [...this.assignments.values()],
      members: [...this.members.values()],
      reprieved,
      behind,
      unreachable,
      failing,
      draining,
      awayMs,
    });
    expect(new Set(changes.map(({ path }) => path)).size).toBe(changes.length);
    return changes.map(({ path, expectedRevision, assignment, reason }) => {
      const before = this.assignments.get(path);
      expect(expectedRevision).toBe(before?.revision ?? 0);
      mustKeepEnough(assignment, before?.assignment);
      this.put(assignment);
      return `${shardOf(assignment)} ${reason}: ${told(assignment, before?.assignment)}`;
    });
  }

  /** What primaries that are there do: take lost replicas out and others in, and hand over when they have to go. */
  private catchUp(): string[] {
    const lines: string[] = [];
    for (const { assignment: before } of [...this.assignments.values()]) {
      const { primary, removing, minInSync } = before;
      if (primary === null || !this.members.has(primary.node)) continue;
      const there = before.inSync.filter(({ node }) => this.members.has(node));
      const stay = there.length >= minInSync ? there : before.inSync;
      const isIn = (id: string): boolean => before.inSync.some(({ node }) => node === id);
      const joining = before.replicas.flatMap((id) => (isIn(id) ? [] : (this.members.get(id) ?? [])));
      const inSync = [...stay, ...joining.map(({ id, store }) => ({ node: id, store }))];
      const mustHandOver = removing.includes(primary.node) && withMoveEnded({ ...before, inSync }) !== null;
      const heir = mustHandOver ? inSync.find(({ node }) => !removing.includes(node)) : undefined;
      const eligible = inSync.length < minInSync ? before.eligible : [];
      const after = {
        ...before,
        inSync,
        eligible,
        ...(heir === undefined ? {} : { primary: heir, epoch: before.epoch + 1 }),
      };
      if (JSON.stringify(after) === JSON.stringify(before)) continue;
      this.put(after);
      lines.push(`${shardOf(after)} by its primary: ${told(after, before)}`);
    }
    return lines;
  }

  private shrink(shard: string, nodes: string[]): string[] {
    const { assignment: before } = this.assignments.get(pathOf(shard))!;
    const inSync = before.inSync.filter(({ node }) => !nodes.includes(node));
    const left = before.inSync.filter(({ node }) => nodes.includes(node));
    const after = {
      ...before,
      inSync,
      eligible: inSync.length < before.minInSync ? [...before.eligible, ...left] : [],
    };
    this.put(after);
    return [`${shard} by its primary: ${told(after, before)}`];
  }

  private settle(): string[] {
    const lines: string[] = [];
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const planned = this.round();
      lines.push(...planned, ...this.catchUp());
      if (planned.length === 0) return lines;
    }
    throw new Error('the plan never comes to rest');
  }

  private put(assignment: ShardAssignment): void {
    this.assignments.set(assignmentPath(assignment.spec), { assignment, revision: ++this.revision });
  }

  private inOrder(): ShardAssignment[] {
    return [...this.assignments].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { assignment }]) => assignment);
  }

  private loadOf(id: string): string {
    const held = this.inOrder().filter(({ replicas }) => replicas.includes(id));
    return `${id}: ${held.length} replicas, ${held.filter(({ primary }) => primary?.node === id).length} of them lead`;
  }
}

/** Whatever is planned, those who have everything are of the shard, and as many as must have it. */
function mustKeepEnough(after: ShardAssignment, before: ShardAssignment | undefined): void {
  const complete = (one: ShardAssignment): string[] => [
    ...new Set([...one.inSync, ...one.eligible].map(({ node }) => node)),
  ];
  expect(after.replicas).toEqual(expect.arrayContaining(complete(after)));
  if (before !== undefined)
    expect(complete(after).length).toBeGreaterThanOrEqual(Math.min(complete(before).length, after.minInSync));
}

function orNothing(lines: string[]): string[] {
  return lines.length === 0 ? ['nothing'] : lines;
}

function pathOf(shard: string): string {
  const [collectionUid, number] = shard.split('/');
  return assignmentPath({ collectionUid, shard: Number(number) });
}

function shardOf({ spec }: ShardAssignment): string {
  return `${spec.collectionUid}/${spec.shard}`;
}

/** An assignment in a line; beside another one only what differs. */
function told(assignment: ShardAssignment, before?: ShardAssignment): string {
  const list = (names: string[]): string => (names.length === 0 ? 'none' : names.join(' '));
  const parts = (one: ShardAssignment): string[] => [
    `epoch ${one.epoch}`,
    `primary ${one.primary === null ? 'none' : named(one.primary)}`,
    `in sync ${list(one.inSync.map(named))}`,
    `eligible ${list(one.eligible.map(named))}`,
    `replicas ${list(one.replicas)}`,
    `adding ${list(one.adding)}`,
    `removing ${list(one.removing)}`,
    `min in sync ${one.minInSync}`,
    ...(one.unused === true ? ['unused'] : []),
  ];
  const known = before === undefined ? ['eligible none', 'adding none', 'removing none'] : parts(before);
  return (
    parts(assignment)
      .filter((part) => !known.includes(part))
      .join(', ') || 'as it was'
  );
}

/** A replica by its node; with its store where that is not the node's first. */
function named({ node, store }: ReplicaId): string {
  return store === `${node}-store` ? node : `${node} (${store})`;
}
