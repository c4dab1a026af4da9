import { type CollectionRecord, defaultMinInSync } from '../../../../coordinator/collections/collection-record';
import { planChanges } from '../../../../coordinator/cluster/plan';
import type { ClusterPicture } from '../../../../coordinator/cluster/planned-change';
import type { NodeMember } from '../../../../shared/cluster/members';
import { assignmentPath, type ShardAssignment } from '../../../../shared/cluster/shard-assignment';

/** The controller's decisions, and where they lead when every one of them is carried out. */

function node(id: string, zone = '', store = `${id}-store`): NodeMember {
  return { id, address: `${id}:7000`, store, incarnation: '1', zone, pid: 1, startedAt: '', diskBytes: 0, freeBytes: 0 };
}

function collection(name: string, shards: number, replicas: number, minInSync = defaultMinInSync(replicas)): CollectionRecord {
  return { uid: `uid-${name}`, name, dim: 3, metric: 'cosine', description: null, language: null, shards, replicas, minInSync, createdAt: '', embeddingModel: null, state: 'ready' };
}

/** A cluster in which every change is made at once, and replicas that were added catch up at once. */
class Model {
  readonly assignments = new Map<string, { assignment: ShardAssignment; revision: number }>();
  readonly draining = new Set<string>();
  readonly unreachable = new Set<string>();
  readonly failing = new Map<string, Set<string>>();
  readonly awayMs = new Map<string, number>();
  collections: CollectionRecord[] = [];
  revision = 10;

  constructor(public members: NodeMember[]) {}

  picture(): ClusterPicture {
    const { members, unreachable, failing, draining, awayMs } = this;
    return {
      collections: this.collections.map((record) => ({ record, revision: 1 })),
      assignments: [...this.assignments.values()],
      members,
      unreachable,
      failing,
      draining,
      awayMs,
    };
  }

  /** One round; answers how many changes there were. */
  round(): number {
    const changes = planChanges(this.picture());
    expect(new Set(changes.map(({ path }) => path)).size).toBe(changes.length);
    for (const { path, expectedRevision, assignment } of changes) {
      expect(this.assignments.get(path)?.revision ?? 0).toBe(expectedRevision);
      this.assignments.set(path, { assignment, revision: ++this.revision });
    }
    return changes.length;
  }

  catchUp(): void {
    for (const found of this.assignments.values()) {
      const { assignment } = found;
      for (const id of assignment.replicas) {
        const member = this.members.find((one) => one.id === id);
        if (member === undefined || assignment.inSync.some((replica) => replica.node === id)) continue;
        found.assignment = { ...found.assignment, inSync: [...found.assignment.inSync, { node: id, store: member.store }] };
        found.revision = ++this.revision;
      }
      // A primary that has to go hands over.
      const { primary, removing, inSync, adding } = found.assignment;
      if (primary !== null && removing.includes(primary.node) && adding.every((id) => inSync.some((replica) => replica.node === id))) {
        const heir = inSync.find((replica) => !removing.includes(replica.node)) as ShardAssignment['inSync'][0];
        found.assignment = { ...found.assignment, primary: heir, epoch: found.assignment.epoch + 1 };
        found.revision = ++this.revision;
      }
    }
  }

  settle(): void {
    for (let rounds = 0; rounds < 500; rounds += 1) {
      const count = this.round();
      this.catchUp();
      if (count === 0) return;
    }
    throw new Error('the plan never comes to rest');
  }

  counts(of: 'replicas' | 'primaries'): Record<string, number> {
    const counts: Record<string, number> = Object.fromEntries(this.members.map(({ id }) => [id, 0]));
    for (const { assignment } of this.assignments.values()) {
      const ids = of === 'replicas' ? assignment.replicas : [assignment.primary?.node ?? 'none'];
      for (const id of ids) counts[id] = (counts[id] ?? 0) + 1;
    }
    return counts;
  }

  all(): ShardAssignment[] {
    return [...this.assignments.values()].map(({ assignment }) => assignment);
  }
}

describe('new shards', () => {
  test('are spread evenly, primaries too, each replica on another node', () => {
    const cluster = new Model([node('a'), node('b'), node('c')]);
    cluster.collections = [collection('one', 6, 2), collection('two', 3, 2)];
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 6, b: 6, c: 6 });
    expect(cluster.counts('primaries')).toEqual({ a: 3, b: 3, c: 3 });
    for (const { replicas, inSync, primary, epoch, minInSync } of cluster.all()) {
      expect(new Set(replicas).size).toBe(2);
      expect(inSync.map((replica) => replica.node)).toEqual(replicas);
      expect(primary).toEqual(inSync[0]);
      expect([epoch, minInSync]).toEqual([1, 1]);
    }
  });

  test('are spread over zones', () => {
    const cluster = new Model([node('a', 'x'), node('b', 'x'), node('c', 'y'), node('d', 'y')]);
    cluster.collections = [collection('one', 8, 2)];
    cluster.settle();
    const zoneOf = new Map(cluster.members.map(({ id, zone }) => [id, zone]));
    for (const { replicas } of cluster.all()) expect(new Set(replicas.map((id) => zoneOf.get(id))).size).toBe(2);
    expect(cluster.counts('replicas')).toEqual({ a: 4, b: 4, c: 4, d: 4 });
  });

  test('go to nodes with room on their disks, to those with little only where there is no other, and to full ones never', () => {
    const disk = (id: string, freeBytes: number): NodeMember => ({ ...node(id), diskBytes: 1000, freeBytes });
    const cluster = new Model([disk('a', 20), disk('b', 60), disk('c', 500), disk('d', 500)]);
    cluster.collections = [collection('pair', 4, 2)];
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 0, b: 0, c: 4, d: 4 });
    cluster.collections.push(collection('triple', 2, 3), collection('four', 1, 4));
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 0, b: 3, c: 7, d: 7 });
    // However uneven that is.
    expect(cluster.round()).toBe(0);
    cluster.members = [disk('a', 900), disk('b', 60), disk('c', 500), disk('d', 500)];
    cluster.settle();
    expect(cluster.counts('replicas')).toMatchObject({ a: 5, b: 3 });
  });

  test('go to no node that has as many replicas as it takes, and wait where there is none', () => {
    const model = new Model([{ ...node('a'), shardsMax: 2 }, { ...node('b'), shardsMax: 5 }, node('c')]);
    model.collections = [collection('x', 6, 1)];
    model.settle();
    const held = (id: string): number => [...model.assignments.values()].filter(({ assignment }) => assignment.replicas.includes(id)).length;
    expect(['a', 'b', 'c'].map(held)).toEqual([2, 2, 2]);
    model.collections.push(collection('y', 9, 1));
    model.settle();
    expect(['a', 'b', 'c'].map(held)).toEqual([2, 5, 8]);
    model.members = [{ ...node('a'), shardsMax: 2 }, { ...node('b'), shardsMax: 5 }];
    model.collections.push(collection('z', 1, 1));
    model.settle();
    expect([...model.assignments.keys()].filter((path) => path.includes('uid-z'))).toEqual([]);
  });

  test('wait for as many nodes as their collection wants in sync', () => {
    const cluster = new Model([node('a')]);
    cluster.collections = [collection('pair', 1, 2, 2), collection('lone', 1, 3, 1)];
    cluster.settle();
    expect(cluster.all()).toMatchObject([{ spec: { collectionUid: 'uid-lone' }, replicas: ['a'], minInSync: 1 }]);
    cluster.members.push(node('b'));
    cluster.settle();
    expect(cluster.all().map(({ spec, minInSync }) => [spec.collectionUid, minInSync]).sort((a, b) => (a[0] < b[0] ? -1 : 1))).toEqual([['uid-lone', 1], ['uid-pair', 2]]);
  });

  test('wait for enough nodes to commit, and get the rest of their replicas when nodes come', () => {
    const cluster = new Model([node('a')]);
    cluster.collections = [collection('triple', 1, 3)];
    cluster.settle();
    expect(cluster.all()).toEqual([]);
    cluster.members.push(node('b'));
    cluster.settle();
    expect(cluster.all()[0]).toMatchObject({ replicas: ['a', 'b'], minInSync: 2 });
    cluster.members.push(node('c'));
    cluster.settle();
    expect(cluster.all()[0].replicas.sort()).toEqual(['a', 'b', 'c']);
  });

  test('do not go to a draining node', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.draining.add('a');
    cluster.collections = [collection('one', 3, 1)];
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 0, b: 3 });
  });
});

describe('a primary that is gone', () => {
  test('is followed by an in-sync replica under the next epoch, spread over the nodes', () => {
    const cluster = new Model([node('a'), node('b'), node('c')]);
    cluster.collections = [collection('one', 6, 3)];
    cluster.settle();
    cluster.members = cluster.members.filter(({ id }) => id !== 'a');
    cluster.round();
    for (const { primary, inSync, epoch, replicas } of cluster.all()) {
      expect(primary?.node).not.toBe('a');
      expect(inSync).toContainEqual(primary);
      // Led by another before: the set is its primary's business.
      if (epoch === 2) expect(inSync.map((replica) => replica.node)).not.toContain('a');
      expect(replicas).toHaveLength(3);
    }
    expect(cluster.counts('primaries')).toEqual({ b: 3, c: 3 });
  });

  test('counts as gone when it is there and most coordinators cannot reach it', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.collections = [collection('one', 1, 2)];
    cluster.settle();
    const [{ primary }] = cluster.all();
    cluster.unreachable.add(primary?.node as string);
    cluster.round();
    expect(cluster.all()[0].primary?.node).not.toBe(primary?.node);
    // Out of reach all of them, there is nobody better.
    cluster.unreachable.add('a').add('b');
    expect(cluster.round()).toBe(0);
  });

  test('leads no shard whose replica on it failed, and goes on leading the others', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.collections = [collection('one', 2, 2)];
    cluster.settle();
    const [sick, well] = cluster.all();
    const path = assignmentPath(sick.spec);
    cluster.failing.set(path, new Set([sick.primary?.node as string]));
    expect(cluster.round()).toBe(1);
    const [after, other] = cluster.all();
    expect(after.primary?.node).not.toBe(sick.primary?.node);
    expect(after.epoch).toBe(sick.epoch + 1);
    expect(other).toEqual(well);
    // With both replicas failed there is nobody better.
    cluster.failing.set(path, new Set(['a', 'b']));
    expect(cluster.round()).toBe(0);
  });

  test('is waited for when nobody else holds everything', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.collections = [collection('one', 1, 1)];
    cluster.settle();
    const [{ primary }] = cluster.all();
    cluster.members = cluster.members.filter(({ id }) => id !== primary?.node);
    expect(cluster.round()).toBe(0);
    // Back with an empty disk it is another store, and still nobody may lead.
    cluster.members.push(node(primary?.node as string, '', 'wiped'));
    expect(cluster.round()).toBe(0);
  });
});

describe('moves', () => {
  test('a node that joins takes its share', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.collections = [collection('one', 6, 2)];
    cluster.settle();
    cluster.members.push(node('c'));
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 4, b: 4, c: 4 });
    for (const assignment of cluster.all()) expect(assignment).toMatchObject({ adding: [], removing: [] });
  });

  test('a draining node gives everything away and nothing is ever held by fewer replicas', () => {
    const cluster = new Model([node('a'), node('b'), node('c')]);
    cluster.collections = [collection('one', 4, 2)];
    cluster.settle();
    cluster.draining.add('b');
    for (let rounds = 0; rounds < 50; rounds += 1) {
      cluster.round();
      for (const { inSync } of cluster.all()) expect(inSync.length).toBeGreaterThanOrEqual(2);
      expect(cluster.all().filter(({ adding }) => adding.length > 0).length).toBeLessThanOrEqual(2);
      cluster.catchUp();
    }
    expect(cluster.counts('replicas')).toEqual({ a: 4, b: 0, c: 4 });
  });

  test('a drain with nowhere to go leaves everything where it is', () => {
    const cluster = new Model([node('a'), node('b')]);
    cluster.collections = [collection('one', 2, 2)];
    cluster.settle();
    cluster.draining.add('b');
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 2, b: 2 });
  });

  test('a node that stays away is replaced, one that is back soon is not', () => {
    const cluster = new Model([node('a'), node('b'), node('c')]);
    cluster.collections = [collection('one', 3, 2)];
    cluster.settle();
    cluster.members = cluster.members.filter(({ id }) => id !== 'c');
    cluster.awayMs.set('c', 60_000);
    cluster.settle();
    expect(cluster.counts('replicas').c).toBe(2);
    cluster.awayMs.set('c', 3_600_000);
    cluster.settle();
    expect(cluster.counts('replicas')).toEqual({ a: 3, b: 3 });
  });

  test('a move whose target is gone is given up, and made to another node', () => {
    const cluster = new Model([node('a'), node('b'), node('c')]);
    cluster.collections = [collection('one', 1, 1)];
    cluster.settle();
    const [{ primary }] = cluster.all();
    cluster.draining.add(primary?.node as string);
    cluster.round();
    const [{ adding }] = cluster.all();
    cluster.members = cluster.members.filter(({ id }) => !adding.includes(id));
    cluster.settle();
    const [after] = cluster.all();
    expect(after.adding).toEqual([]);
    expect(after.replicas).toHaveLength(1);
    expect([primary?.node, ...adding]).not.toContain(after.replicas[0]);
  });
});
