import { decidePromotion } from '../../coordinator/cluster/placement/promotion';
import type { ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import { silentLogger } from '../../shared/base/logs/logger';
import { ANY_REPLICA } from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import type { AppendAck, AppendMessage } from '../../node/replication/core/messages';
import { PermitWatch, ReadPermit } from '../../node/replication/read-permit';
import { Replica, type ChangeResult, type FollowerRead } from '../../node/replication/replica';
import { eventually } from '../support/eventually';
import { MemoryReplicaStorage } from '../support/shards/memory-replica-storage';
import { inVirtualTime } from '../support/virtual-time';

/** Replicas of one shard in one process, on storages in memory: the shell around the protocol. */

const ID = { collectionUid: 'c', shard: 0 };

class Group {
  readonly replicas = new Map<string, Replica>();
  readonly storages = new Map<string, MemoryReplicaStorage>();
  readonly failures: string[] = [];
  readonly away = new Set<string>();
  readonly copies: string[] = [];
  readonly followerReads: FollowerRead[] = [];
  /** By which other threads read each replica. */
  readonly permits = new Map<string, PermitWatch>();
  /** Acknowledgements of what other threads did not see yet, and might have been asked for. */
  readonly early: string[] = [];
  private assignment: ShardAssignment;
  private revision = 1;
  private requestNumber = 0;
  private starts = 0;

  constructor(
    nodes: string[],
    minInSync = 1,
    private readonly restsAfter?: { unreadAfterMs: number; dormantAfterMs: number },
  ) {
    const inSync = nodes.map((node) => ({ node, store: `${node}-store` }));
    this.assignment = {
      spec: { ...ID, dim: 2, metric: 'cosine' },
      minInSync,
      epoch: 1,
      primary: inSync[0],
      inSync,
      eligible: [],
      replicas: nodes,
      adding: [],
      removing: [],
      changeId: '',
    };
    for (const node of nodes) this.start(node);
  }

  get primary(): string {
    return this.assignment.primary?.node ?? '';
  }

  get current(): ShardAssignment {
    return this.assignment;
  }

  start(node: string): void {
    const storage = this.storages.get(node) ?? new MemoryReplicaStorage();
    this.storages.set(node, storage);
    this.away.delete(node);
    const clocks = { monotonicMs: systemClock.monotonicMs, bootMs: systemClock.monotonicMs };
    const permit = new ReadPermit(systemClock, clocks);
    this.permits.set(node, new PermitWatch(permit.memory, clocks));
    const replica = new Replica({
      permit,
      id: ID,
      self: { node, store: `${node}-store` },
      storage,
      unapplied: [],
      changeIdPrefix: `${node}-${++this.starts}`,
      clock: systemClock,
      log: silentLogger,
      ...(this.restsAfter && { restsAfter: this.restsAfter }),
      dependencies: {
        links: {
          sendAppend: (to, _shard, message: AppendMessage) =>
            this.deliver(node, to, (target) => target.received(message)),
          sendAck: (to, _shard, ack: AppendAck) => {
            if (
              ack.result.type === 'match' &&
              ack.result.match > storage.state.appliedSequence &&
              this.mayThreadRead(node)
            )
              this.early.push(`${node}: ${ack.result.match}`);
            this.deliver(node, to, (target) => target.acknowledged(ack));
          },
        },
        changeAssignment: async (change) => this.change(change),
        sendSnapshot: (to) => {
          this.copies.push(`${node} to ${to}`);
          return new Promise(() => undefined);
        },
        onFollowerRead: (outcome) => void this.followerReads.push(outcome),
        onFailed: (error) => void this.failures.push(`${node}: ${error.message}`),
      },
    });
    this.replicas.set(node, replica);
    replica.assigned(this.assignment, this.revision);
  }

  stop(node: string): void {
    this.away.add(node);
    this.replicas.get(node)?.close();
    this.replicas.delete(node);
  }

  /** What the controller does when a node's session has run out. */
  promote(): void {
    const members = new Map([...this.replicas.keys()].map((node) => [node, { store: `${node}-store` }]));
    const promotion = decidePromotion(this.assignment, members);
    if (promotion !== null) this.set(promotion.assignment);
  }

  /** A new epoch of the same primary. */
  bump(): void {
    this.set({ ...this.assignment, epoch: this.assignment.epoch + 1 });
  }

  /** Tells a replica that its log was trimmed, as its shell does. */
  trimmed(node: string, firstSequence: number, precedingEpoch: number): void {
    const replica = this.replicas.get(node) as unknown as { handle: (event: object) => void };
    replica.handle({ type: 'trimmed', firstSequence, precedingEpoch });
  }

  async write(text: string, requestNumber = ++this.requestNumber): Promise<string[]> {
    const replica = this.replicas.get(this.primary) as Replica;
    const source = { session: 's', requestNumber, settledBelow: 0 };
    return (
      await replica.write(
        { source, payload: Buffer.from(text) },
        { deadlineMs: systemClock.monotonicMs() + 8000, epoch: this.assignment.epoch },
      )
    ).outcomes;
  }

  read(node = this.primary, timeoutMs = 8000, epoch = this.assignment.epoch): Promise<string[]> {
    const replica = this.replicas.get(node) as Replica;
    const storage = this.storages.get(node) as MemoryReplicaStorage;
    return replica.read({ deadlineMs: systemClock.monotonicMs() + timeoutMs, epoch }, async () => [...storage.applied]);
  }

  mayThreadRead(node: string): boolean {
    return (this.permits.get(node) as PermitWatch).begin() >= 0;
  }

  /** What another thread reads now; null: it may not. */
  threadRead(node = this.primary): string[] | null {
    const permit = this.permits.get(node) as PermitWatch;
    const grant = permit.begin();
    const texts = [...(this.storages.get(node) as MemoryReplicaStorage).applied];
    return grant >= 0 && permit.holds(grant) ? texts : null;
  }

  close(): void {
    for (const replica of this.replicas.values()) replica.close();
  }

  private set(assignment: ShardAssignment): void {
    this.assignment = assignment;
    this.revision += 1;
    for (const replica of this.replicas.values()) replica.assigned(assignment, this.revision);
  }

  private change(change: { assignment: ShardAssignment; expectedRevision: number }): ChangeResult {
    const applied = change.expectedRevision === this.revision;
    if (applied) this.set(change.assignment);
    return { applied, current: this.assignment, revision: this.revision };
  }

  private deliver(from: string, to: string, give: (target: Replica) => void): void {
    setImmediate(() => {
      const target = this.replicas.get(to);
      if (target !== undefined && !this.away.has(from) && !this.away.has(to)) give(target);
    });
  }
}

inVirtualTime();
let group: Group;
afterEach(() => group.close());

test('a single replica serves at once', async () => {
  group = new Group(['a']);
  expect(await group.write('one')).toEqual(['inserted']);
  expect(await group.read()).toEqual(['one']);
});

test('writes are on every replica, in one order, each once', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  await Promise.all(Array.from({ length: 200 }, (_, i) => group.write(`w${i}`)));
  // Sent again: not applied again.
  expect(await group.write('w0', 1)).toEqual(['inserted']);
  const read = await group.read();
  expect([...read].sort()).toEqual(Array.from({ length: 200 }, (_, i) => `w${i}`).sort());
  await eventually('the followers have applied all', () =>
    ['b', 'c'].every((node) => group.storages.get(node)?.applied.length === 200),
  );
  for (const node of ['b', 'c']) expect(group.storages.get(node)?.applied).toEqual(read);
});

test('a follower that is sent an entry of a later version acknowledges nothing of it and stops, and the others go on', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  await group.write('one');
  const replica = group.replicas.get('c') as Replica;
  const received = replica.received.bind(replica);
  replica.received = (message) =>
    received({ ...message, entries: message.entries.map((entry) => ({ ...entry, unknown: 'it has format 2' })) });
  expect(await group.write('two')).toEqual(['inserted']);
  expect(group.failures).toEqual([
    "c: entry 3 of the primary's log was written by a later version: it has format 2; nothing was changed, a later version of the program reads it",
  ]);
  expect(group.current.inSync.map(({ node }) => node)).toEqual(['a', 'b']);
  expect(group.storages.get('c')?.state.lastSequence).toBe(2);
  group.stop('c');
  group.start('c');
  await eventually('the program that knows it has all', () => group.storages.get('c')?.applied.length === 2);
});

test('a follower answers reads while its primary shares the lease with it, and with all that is acknowledged', async () => {
  group = new Group(['a', 'b']);
  await group.write('one');
  await eventually('it has a share', async () => (await group.read('b', 8000, ANY_REPLICA).catch(() => [])).length > 0);
  for (let i = 0; i < 50; i += 1) {
    await group.write(`w${i}`);
    // On a machine that stands still for a moment it declines, and answers a later one.
    await eventually('it answers', async () => {
      const texts = await group.read('b', 8000, ANY_REPLICA).catch(() => null);
      if (texts !== null) expect(texts).toHaveLength(i + 2);
      return texts !== null;
    });
  }
  expect(group.followerReads.filter((outcome) => outcome === 'answered').length).toBeGreaterThanOrEqual(50);
  // A call to the primary that came here by an old route.
  await expect(group.read('b')).rejects.toMatchObject({ kind: 'misrouted' });
});

test('other threads may read a replica by its permit, and see all that is acknowledged', async () => {
  group = new Group(['a', 'b']);
  for (let i = 0; i < 50; i += 1) {
    await group.write(`w${i}`);
    for (const node of ['a', 'b']) {
      await eventually(`${node} may be read`, () => {
        const texts = group.threadRead(node);
        if (texts !== null) expect(texts).toHaveLength(i + 1);
        return texts !== null;
      });
    }
  }
  expect(group.early).toEqual([]);
});

test('other threads may not read a replica that leads no more, hears nothing, or is closed', async () => {
  group = new Group(['a', 'b', 'c']);
  await group.write('one');
  await eventually('all may be read', () => ['a', 'b', 'c'].every((node) => group.mayThreadRead(node)));
  const [before] = [group.permits.get('a') as PermitWatch].map((permit) => ({ permit, grant: permit.begin() }));
  group.away.add('c');
  await eventually('the share of one that hears nothing is over', () => !group.mayThreadRead('c'));
  (group.replicas.get('a') as Replica).handOver('b');
  await eventually('another leads', () => group.primary === 'b');
  expect(before.permit.holds(before.grant)).toBe(false);
  await group.write('two');
  await eventually('the new one may be read', () => {
    const texts = group.threadRead('b');
    if (texts !== null) expect(texts).toEqual(['one', 'two']);
    return texts !== null;
  });
  const closed = group.permits.get('b') as PermitWatch;
  group.stop('b');
  expect(closed.begin()).toBe(-1);
});

test('a call that waits here for a later epoch is not answered when a share in the lease comes meanwhile', async () => {
  group = new Group(['a', 'b']);
  await group.write('one');
  const replica = group.replicas.get('b') as Replica;
  const received = replica.received.bind(replica);
  const held: AppendMessage[] = [];
  replica.received = (message) => void held.push(message);
  await eventually(
    'it has no share',
    async () =>
      (await group.read('b', 8000, ANY_REPLICA).catch((error: { kind: string }) => error.kind)) === 'misrouted',
  );
  // Its coordinator has heard of a change before this replica. What it holds may be behind.
  const read = expect(group.read('b', 8000, group.current.epoch + 1)).rejects.toMatchObject({ kind: 'misrouted' });
  replica.received = received;
  for (const message of held) received(message);
  await read;
});

test('a dormant shard answers each read after a round trip, and its followers do so again once it is read', async () => {
  group = new Group(['a', 'b', 'c'], 2, { unreadAfterMs: 2_000, dormantAfterMs: 2_000 });
  await group.write('one');
  // Whoever looks at a permit counts as a reader.
  const hasLease = (): boolean => (group.replicas.get('a') as Replica).view() !== null;
  const isAsleep = (): Promise<void> => eventually('the lease is over', () => !hasLease());
  for (const text of ['two', 'three']) {
    await isAsleep();
    const beganMs = systemClock.monotonicMs();
    const kinds = await Promise.all(Array.from({ length: 100 }, async () => (await group.read()).length));
    // Neither of them waited for the next heartbeat, which is seconds away.
    expect(systemClock.monotonicMs() - beganMs).toBeLessThan(1_000);
    expect(new Set(kinds)).toEqual(new Set([text === 'two' ? 1 : 2]));
    // What is no client's read leaves it as it is.
    await isAsleep();
    expect(await group.write(text)).toEqual(['inserted']);
  }
  await isAsleep();
  await expect(group.read('b', 8000, ANY_REPLICA)).rejects.toMatchObject({ kind: 'misrouted' });
  (group.replicas.get('a') as Replica).noteRead();
  await eventually(
    'a follower answers',
    async () => (await group.read('b', 8000, ANY_REPLICA).catch(() => [])).length === 3,
  );
  expect(hasLease()).toBe(true);
  expect(group.current.inSync).toHaveLength(3);
  expect(group.failures).toEqual([]);
});

test('a follower that hears nothing declines reads', async () => {
  group = new Group(['a', 'b']);
  await group.write('one');
  await eventually('it has a share', async () => (await group.read('b', 8000, ANY_REPLICA).catch(() => [])).length > 0);
  group.away.add('b');
  await eventually(
    'it is over',
    async () =>
      (await group.read('b', 8000, ANY_REPLICA).catch((error: { kind: string }) => error.kind)) === 'misrouted',
  );
  expect(group.followerReads).toContain('refused');
});

test('a read at a follower that does not hear of a commit is sent on to the primary', async () => {
  group = new Group(['a', 'b']);
  await group.write('one');
  await eventually('it has a share', async () => (await group.read('b', 8000, ANY_REPLICA).catch(() => [])).length > 0);
  const replica = group.replicas.get('b') as Replica;
  const received = replica.received.bind(replica);
  replica.received = (message) => received({ ...message, commit: 0 });
  await group.write('two');
  await expect(group.read('b', 8000, ANY_REPLICA)).rejects.toMatchObject({ kind: 'misrouted' });
  expect(group.followerReads).toContain('lagging');
});

test('another replica leads when the primary is gone, with everything that was answered', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  for (let i = 0; i < 20; i += 1) await group.write(`before${i}`);
  group.stop('a');
  group.promote();
  expect(group.primary).not.toBe('a');
  await group.write('after');
  expect(await group.read()).toEqual([...Array.from({ length: 20 }, (_, i) => `before${i}`), 'after']);
  // The old primary is back as a follower and catches up.
  group.start('a');
  await eventually('the old primary has all', () => group.storages.get('a')?.applied.length === 21);
  await eventually('all are in sync', () => group.current.inSync.length === 3);
});

test('a lost follower leaves the in-sync set and the rest goes on', async () => {
  group = new Group(['a', 'b']);
  await group.write('one');
  group.stop('b');
  expect(await group.write('two')).toEqual(['inserted']);
  expect(group.current.inSync.map(({ node }) => node)).toEqual(['a']);
  expect(await group.read()).toEqual(['one', 'two']);
});

test('a primary alone with two required refuses instead of answering', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  await group.write('one');
  group.stop('b');
  group.stop('c');
  await eventually('too few are in sync', () => group.current.inSync.length < 2);
  await expect(group.write('two')).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(group.read('a', 500)).rejects.toMatchObject({ kind: 'unavailable' });
});

// That it waits for no lease is told by test/unit/node/replication/core/golden/a-primary-hands-over.txt.
test('a handover loses nothing', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  for (let i = 0; i < 10; i += 1) await group.write(`w${i}`);
  group.replicas.get('a')?.handOver(null);
  await eventually('another leads', () => group.primary !== 'a');
  await group.write('after');
  expect(await group.read()).toHaveLength(11);
});

test('a storage that fails takes the replica out and its writes are unknown, not failed', async () => {
  group = new Group(['a']);
  await group.write('one');
  (group.storages.get('a') as MemoryReplicaStorage).failure = new Error('disk');
  await expect(group.write('two')).rejects.toMatchObject({ kind: 'commit_unknown' });
  expect(group.failures).toEqual(['a: disk']);
});

test('a primary whose disk hangs without an error is followed by another', async () => {
  group = new Group(['a', 'b', 'c'], 2);
  await group.write('one');
  (group.storages.get('a') as MemoryReplicaStorage).hang();
  await expect(group.write('two')).rejects.toMatchObject({ kind: 'commit_unknown' });
  expect(group.primary).not.toBe('a');
  await group.write('three');
  expect(await group.read()).toEqual(expect.arrayContaining(['one', 'three']));
});

test('a copy that is on its way to a node is not begun again by a new epoch', async () => {
  group = new Group(['a', 'b']);
  for (let i = 0; i < 5; i += 1) await group.write(`w${i}`);
  group.stop('b');
  await group.write('alone');
  // Its log is gone, so nothing but a copy can bring it back.
  const storage = group.storages.get('a') as MemoryReplicaStorage;
  await storage.trim(storage.state.appliedSequence);
  const { firstSequence, precedingEpoch } = storage.state;
  group.trimmed('a', firstSequence, precedingEpoch);
  group.storages.delete('b');
  group.start('b');
  await eventually('a copy is asked for', () => group.copies.length > 0);
  group.bump();
  await group.write('later');
  expect(group.copies).toEqual(['a to b']);
});
