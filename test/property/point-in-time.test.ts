import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupRepository } from '../../coordinator/jobs/backup/backup-repository';
import { RestoreMoment } from '../../coordinator/jobs/restore/restore-moment';
import { ShippedLogs } from '../../coordinator/jobs/backup/shipped-logs';
import { SettledWrites } from '../../node/replication/settled-writes';
import { LogShipping } from '../../node/replication/shipping/log-shipping';
import type { LoggedEntry, LogView, ShippableLog } from '../../node/engine/shard/backup/shippable-log';
import { epochAt } from '../../node/replication/log/log-survey';
import type { LogEntry } from '../../node/replication/core/replica-state';
import { Shard } from '../../node/engine/shard/shard';
import type { ShardOptions } from '../../node/engine/shard/shard-options';
import { WriteBudget } from '../../node/engine/shard/writing/write-queue';
import type { Logger } from '../../shared/base/logs/logger';
import type { ShardBackupState } from '../../shared/contract/shard/shard-backup';
import type { BackedUpShard } from '../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../shared/backup-store/backup-target';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { isExpired } from '../../shared/contract/writes/expiry';
import type { DedupRecord } from '../../shared/contract/writes/dedup-record';
import { operationsToBytes, stampMoment } from '../../shared/contract/writes/operation-codec';
import {
  ANY_VERSION,
  NO_TERM,
  NO_VERSION,
  PLAIN_STEP,
  type WriteOperation,
} from '../../shared/contract/shard/shard-client';
import { shardOf } from '../../shared/contract/shard/shard-of';
import type { StoredItem } from '../../shared/contract/shard/shard-read';
import { ManualClock } from '../support/manual-clock';
import { Pace } from '../../shared/base/time/pace';
import { PowerLossStore } from '../support/shards/power-loss-store';
import { runSeed, seededRandom } from '../support/values/random';
import { LogMemory, NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { StoredReplica } from '../support/shards/stored-replica';
import { UnsteadyTarget } from '../support/targets/unsteady-target';

/**
 * Random lives of shards whose logs are shipped, to a target that fails, with crashes and changes of the primary in
 * between; then moments are restored, into the same and another number of shards, and compared with what was there
 * then.
 */

const RUNS = Number(process.env.RUNS ?? 1);
const STEPS = 60;
const UID = 'c';
const DIM = 2;

/** What of a life is the same for shards with a log of their own, and for replicas. */
interface Subject {
  readonly shards: number;
  write(shard: number, operations: WriteOperation[], again: boolean): Promise<void>;
  items(shard: number): Promise<StoredItem[]>;
  marks(shard: number): Promise<DedupRecord[]>;
  backUp(id: string, shard: number): Promise<BackedUpShard>;
  ship(): Promise<void>;
  /** A crash, or another primary. */
  disturb(): Promise<void>;
  position(shard: number): number;
  end(): Promise<void>;
}

/** Items, and what is remembered of writes that are done once. */
interface Held {
  items: StoredItem[];
  marks: string[];
}

/** A write that is done once. */
interface Marked {
  shard: number;
  token: string;
  operations: WriteOperation[];
}

class Life {
  private readonly clock = new ManualClock();
  private readonly target: UnsteadyTarget;
  private readonly repository: BackupRepository;
  private stamp = 1;
  /** What there was after each change, and at which places. */
  private readonly history: { ms: number; was: Held; places: number[] }[] = [];
  private backups = 0;
  private readonly marked: Marked[] = [];

  constructor(
    private readonly random: () => number,
    private readonly make: (target: UnsteadyTarget, clock: ManualClock, random: () => number) => Promise<Subject>,
  ) {
    this.target = new UnsteadyTarget(random);
    this.repository = new BackupRepository(this.target, () => this.clock.wallMs());
  }

  async live(): Promise<void> {
    const subject = await this.make(this.target, this.clock, this.random);
    const record = JSON.stringify({ name: 'c' });
    await new ShippedLogs(this.target).putHistory({
      name: 'c',
      uid: UID,
      identity: UID,
      record,
      shards: subject.shards,
      fromMs: this.clock.wallMs(),
      toMs: null,
    });
    try {
      await this.note(subject);
      for (let step = 0; step < STEPS; step += 1) await this.step(subject);
      this.target.failing = 0;
      this.clock.advance(5);
      await subject.ship();
      for (const shards of [subject.shards, subject.shards + 1]) await this.restore(subject, shards);
      await this.restorePlaces(subject);
      // What is swept away leads nowhere: the newest moment stays.
      await this.repository.sweep();
      await this.restore(subject, 1, this.history.length - 1);
      await expect(
        new RestoreMoment(this.repository).find({
          until: new Date(this.clock.wallMs() + 60_000).toISOString(),
          rename: {},
        }),
      ).rejects.toThrow('can be restored up to');
    } finally {
      await subject.end();
    }
  }

  private async step(subject: Subject): Promise<void> {
    // Two writes of a millisecond are on the same side of every moment.
    this.clock.advance(1 + this.below(3));
    const dice = this.random();
    this.target.failing = this.random() < 0.5 ? 0 : 0.4;
    if (dice < 0.65) {
      const shard = this.below(subject.shards);
      await subject.write(shard, this.operations(subject, shard), this.random() < 0.2);
      await this.note(subject);
    } else if (dice < 0.85) await subject.ship();
    else if (dice < 0.92) await subject.disturb();
    else await this.backUp(subject);
  }

  private async note(subject: Subject): Promise<void> {
    const shards = Array.from({ length: subject.shards }, (_, shard) => shard);
    const items = (await Promise.all(shards.map((shard) => subject.items(shard)))).flat();
    const marks = (await Promise.all(shards.map((shard) => subject.marks(shard)))).flat();
    this.history.push({
      ms: this.clock.wallMs(),
      was: { items: inOrder(items), marks: entriesOf(marks) },
      places: shards.map((shard) => subject.position(shard)),
    });
  }

  private async backUp(subject: Subject): Promise<void> {
    this.target.failing = 0;
    const at = new Date(this.clock.wallMs()).toISOString();
    const id = `20260101T0000${String(this.backups++).padStart(2, '0')}Z-00000000`;
    const shards: BackedUpShard[] = [];
    for (let shard = 0; shard < subject.shards; shard += 1) shards.push(await subject.backUp(id, shard));
    const collections = [{ name: 'c', uid: UID, record: JSON.stringify({ name: 'c' }), shards }];
    await this.repository.publish({
      id,
      startedAt: at,
      finishedAt: at,
      version: '',
      scheduled: false,
      collections,
      keys: [],
      copiedBytes: 0,
      totalBytes: 0,
    });
  }

  private async restore(subject: Subject, shards: number, index = this.below(this.history.length)): Promise<void> {
    const from = this.history[index].ms;
    const until = from + this.below((this.history[index + 1]?.ms ?? from + 1) - from);
    const {
      collections: [reached],
    } = await new RestoreMoment(this.repository).find({ until: new Date(until).toISOString(), rename: {} });
    expect(await this.restored(reached, shards, until)).toEqual(aliveAt(this.history[index].was, until));
    expect(reached.upTo).toHaveLength(subject.shards);
  }

  private async restorePlaces(subject: Subject): Promise<void> {
    const { was, places, ms } = this.history[this.below(this.history.length)];
    const {
      collections: [reached],
    } = await new RestoreMoment(this.repository).find({ until: { positions: { c: places } }, rename: {} });
    expect(await this.restored(reached, subject.shards, ms)).toEqual(was);
  }

  private async restored(
    { base, upTo, uid }: { base: string; upTo: number[]; uid: string },
    shards: number,
    atMs: number,
  ): Promise<Held> {
    const clock = new ManualClock();
    clock.advance(atMs - clock.wallMs());
    const node = await new ShardNode({
      factories: plainFactories,
      openStore: openRocksStore,
      clock,
      backups: { open: () => this.target, pace: new Pace(Infinity), ledger: (stored) => SettledWrites.load(stored) },
    }).start();
    try {
      const seed = { target: 'memory', backup: base, collectionUid: uid, shards, log: { upTo } };
      const items: StoredItem[] = [];
      const marks: DedupRecord[] = [];
      for (let shard = 0; shard < shards; shard += 1) {
        const id = { collectionUid: 'new', shard };
        await node.client.make({ ...id, dim: DIM, metric: 'l2', seed });
        items.push(...(await itemsOf((request) => node.client.read(id, 'scan', request, NO_HURRY))));
        marks.push(...(await node.client.read(id, 'marks', ALL_MARKS, NO_HURRY)));
      }
      return { items: inOrder(items), marks: entriesOf(marks) };
    } finally {
      await node.destroy();
    }
  }

  /** Some are done once, and some of those come again later. */
  private operations(subject: Subject, shard: number): WriteOperation[] {
    const again = this.marked.filter((one) => one.shard === shard);
    if (again.length > 0 && this.random() < 0.3) return this.withMark(again[this.below(again.length)]);
    const operations = Array.from({ length: 1 + this.below(3) }, () => this.operation(subject, shard));
    if (this.random() < 0.6) return operations;
    const marked = { shard, token: (this.marked.length + 1).toString(16).padStart(32, '0'), operations };
    this.marked.push(marked);
    return this.withMark(marked);
  }

  private withMark({ token, operations }: Marked): WriteOperation[] {
    const nowMs = Math.floor(this.clock.wallMs());
    return [
      {
        type: 'dedup',
        token,
        digest: 'd'.repeat(32),
        nowMs,
        keptMs: 80,
        bytesMax: 1 << 20,
        step: PLAIN_STEP,
        note: '',
        term: NO_TERM,
      },
      ...operations,
    ];
  }

  private operation(subject: Subject, shard: number): WriteOperation {
    let externalId: string;
    do externalId = `id-${this.below(30)}`;
    while (shardOf(externalId, subject.shards) !== shard);
    const dice = this.random();
    const n = this.below(5);
    const condition =
      this.random() < 0.7
        ? {}
        : { expected: [NO_VERSION, ANY_VERSION, this.stamp][this.below(3)], alone: this.random() < 0.5 };
    const expiring = this.random() < 0.6 ? {} : { expiresAt: this.clock.wallMs() + 1 + this.below(40) };
    if (dice < 0.05) return { type: 'expire', externalId };
    if (dice < 0.2) return { type: 'delete', externalId, ...condition };
    if (dice < 0.3) return { type: 'delete', externalId, filter: parseFilter({ n: { $gte: n } }) ?? undefined };
    if (dice < 0.45)
      return {
        type: 'patch',
        externalId,
        metadata: { json: `{"p":${n},"n":null}`, replaces: n === 0, bytesMax: 1000, fieldsMax: 10 },
        vector: undefined,
        text: undefined,
        ...expiring,
        ...condition,
      };
    this.stamp += this.below(3);
    const text = this.random() < 0.4 ? `text ${n}` : undefined;
    return {
      type: 'upsert',
      externalId,
      stamp: this.stamp,
      vector: Float32Array.of(n, this.random()),
      metadata: this.random() < 0.7 ? `{"n":${n}}` : undefined,
      text,
      ...expiring,
      ...condition,
    };
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }
}

function itemsOf(
  scan: (request: {
    after: null;
    limit: number;
    filter: null;
    vectors: true;
    versions: true;
    expiries: true;
  }) => Promise<StoredItem[]>,
): Promise<StoredItem[]> {
  return scan({ after: null, limit: 10_000, filter: null, vectors: true, versions: true, expiries: true });
}

const ALL_MARKS = { token: null, after: 0, limit: 10_000 };

/** What became of each item of each write, in whatever shard it is remembered. */
function entriesOf(marks: DedupRecord[]): string[] {
  return marks
    .flatMap(({ token, digest, expiresAtMs, entries }) =>
      entries.map((entry) => JSON.stringify({ token, digest, expiresAtMs, ...entry })),
    )
    .sort();
}

function aliveAt({ items, marks }: Held, atMs: number): Held {
  return { items: items.filter(({ expiry }) => !expiry || !isExpired(expiry, atMs)), marks };
}

function inOrder(items: StoredItem[]): StoredItem[] {
  return [...items].sort((a, b) => a.stamp - b.stamp || (a.externalId < b.externalId ? -1 : 1));
}

function backupPlace(
  target: BackupTarget,
  clock: ManualClock,
  log: 'own' | 'replica',
): NonNullable<ShardOptions['backups']> {
  return {
    open: () => target,
    pace: new Pace(Infinity),
    log,
    wallMs: () => clock.wallMs(),
    ledger: (stored) => SettledWrites.load(stored),
  };
}

async function backedUp(shard: Shard, id: string): Promise<BackedUpShard> {
  let state: ShardBackupState;
  do {
    state = await shard.read('backup', { backup: id, target: 'memory', base: null });
    await new Promise((wake) => setImmediate(wake));
  } while (state.state === 'running');
  if (state.manifest === null || state.position === null) throw new Error(`the backup failed: ${state.error}`);
  return {
    manifest: state.manifest,
    items: state.items,
    totalBytes: state.totalBytes,
    needs: state.needs,
    position: state.position,
  };
}

function shippingOf(target: BackupTarget, clock: ManualClock, member: string, logs: () => ShippableLog[]): LogShipping {
  return new LogShipping({
    member,
    logs,
    target,
    pace: new Pace(Infinity),
    clock,
    everyMs: 1000,
    log: new LogMemory() as unknown as Logger,
  });
}

/** Shards without replicas, which keep their writes themselves. */
class OwnShards implements Subject {
  readonly shards = 2;
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-moment-'));
  private readonly disks = Array.from({ length: this.shards }, () => new PowerLossStore());
  private readonly open: Shard[] = [];
  private shipping!: LogShipping;

  constructor(
    private readonly target: UnsteadyTarget,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  async start(): Promise<this> {
    for (let shard = 0; shard < this.shards; shard += 1) await this.openShard(shard);
    this.shipping = shippingOf(this.target, this.clock, 'node-0', () => this.open.map(({ log }) => log!));
    return this;
  }

  async write(shard: number, operations: WriteOperation[]): Promise<void> {
    await this.open[shard].write(operations);
  }

  items(shard: number): Promise<StoredItem[]> {
    return itemsOf((request) => this.open[shard].read('scan', request));
  }

  marks(shard: number): Promise<DedupRecord[]> {
    return this.open[shard].read('marks', ALL_MARKS);
  }

  backUp(id: string, shard: number): Promise<BackedUpShard> {
    return backedUp(this.open[shard], id);
  }

  ship(): Promise<void> {
    return this.shipping.round();
  }

  async disturb(): Promise<void> {
    await this.shipping.round();
    for (const [shard, open] of this.open.entries()) {
      await open.close(this.random() < 0.5 ? 'closed' : 'reopened');
      await this.disks[shard].losePower(this.random());
    }
    this.open.length = 0;
    await this.start();
  }

  position(shard: number): number {
    return this.open[shard].log!.view()!.committed;
  }

  async end(): Promise<void> {
    for (const open of this.open) await open.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async openShard(shard: number): Promise<void> {
    const backups = backupPlace(this.target, this.clock, 'own');
    const fail = (): void => undefined;
    const dependencies = { budget: new WriteBudget(), onDiverged: fail, onWriteFailed: fail, onDamaged: fail };
    const options = {
      wallMs: () => this.clock.wallMs(),
      factories: plainFactories,
      openStore: async () => this.disks[shard],
      recallTarget: 0.99,
      buildThreads: 1,
      logger: new LogMemory(),
      backups,
    };
    this.open[shard] = await Shard.open(
      join(this.folder, String(shard)),
      { collectionUid: UID, shard, dim: DIM, metric: 'l2' },
      options,
      dependencies,
    );
  }
}

/** Replicas with a log that they share: two of each shard, of which one leads. */
class Replicas implements Subject {
  readonly shards = 2;
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-moment-'));
  private readonly disks: PowerLossStore[][] = [];
  private readonly replicas: StoredReplica[][] = [];
  private readonly shippings: LogShipping[] = [];
  private readonly kept: number[] = [];
  private readonly last: (WriteOperation[] | null)[] = [];
  private leader = 0;
  private epoch = 1;
  private requests = 0;

  constructor(
    private readonly target: UnsteadyTarget,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  async start(): Promise<this> {
    for (let shard = 0; shard < this.shards; shard += 1) {
      this.disks.push([new PowerLossStore(), new PowerLossStore()]);
      this.kept.push(0);
      this.last.push(null);
      this.replicas.push(
        await Promise.all(
          [0, 1].map((node) => {
            const options = {
              openStore: async () => this.disks[shard][node],
              backups: backupPlace(this.target, this.clock, 'replica'),
              wallMs: () => this.clock.wallMs(),
            };
            return new StoredReplica(
              join(this.folder, `${shard}-${node}`),
              { collectionUid: UID, shard, dim: DIM, metric: 'l2' },
              options,
            ).open();
          }),
        ),
      );
    }
    for (const node of [0, 1]) this.shippings.push(this.newShipping(node));
    await this.append({ write: null });
    return this;
  }

  async write(shard: number, operations: WriteOperation[], again: boolean): Promise<void> {
    const repeated = again ? this.last[shard] : null;
    if (repeated === null) this.requests += 1;
    this.last[shard] = repeated ?? operations;
    const source = {
      session: 's',
      requestNumber: repeated === null ? this.requests : this.requestOf.get(repeated)!,
      settledBelow: 0,
    };
    if (repeated === null) this.requestOf.set(operations, this.requests);
    const payload = operationsToBytes(repeated ?? operations);
    stampMoment(payload, this.clock.wallMs());
    await this.appendTo(shard, { write: { source, payload, at: this.clock.wallMs() } });
  }

  private readonly requestOf = new Map<WriteOperation[], number>();

  items(shard: number): Promise<StoredItem[]> {
    return itemsOf((request) => this.replicas[shard][this.leader].shard.read('scan', request));
  }

  marks(shard: number): Promise<DedupRecord[]> {
    return this.replicas[shard][this.leader].shard.read('marks', ALL_MARKS);
  }

  backUp(id: string, shard: number): Promise<BackedUpShard> {
    return backedUp(this.replicas[shard][this.leader].shard, id);
  }

  async ship(): Promise<void> {
    // The one that leads no more is asked as well, and says nothing.
    for (const shipping of this.shippings) await shipping.round();
    for (const [shard, replicas] of this.replicas.entries())
      for (const { storage } of replicas) if (this.random() < 0.5) await storage.trim(this.kept[shard] + 1);
  }

  async disturb(): Promise<void> {
    const crashed = this.random() < 0.7 ? this.leader : 1 - this.leader;
    for (const [shard, replicas] of this.replicas.entries()) {
      await replicas[crashed].close(this.random() < 0.5 ? 'stopped' : 'crashed');
      await this.disks[shard][crashed].losePower(this.random());
      await replicas[crashed].open();
      await replicas[crashed].storage.apply(replicas[crashed].storage.state.lastSequence);
    }
    this.shippings[crashed] = this.newShipping(crashed);
    if (this.random() < 0.7) this.leader = 1 - this.leader;
    this.epoch += 1;
    await this.append({ write: null });
  }

  position(shard: number): number {
    return this.replicas[shard][this.leader].storage.state.appliedSequence;
  }

  async end(): Promise<void> {
    for (const replicas of this.replicas) for (const replica of replicas) await replica.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async append(entry: Pick<LogEntry, 'write'>): Promise<void> {
    for (let shard = 0; shard < this.shards; shard += 1) await this.appendTo(shard, entry);
  }

  private async appendTo(shard: number, entry: Pick<LogEntry, 'write'>): Promise<void> {
    const sequence = this.replicas[shard][0].storage.state.lastSequence + 1;
    for (const { storage } of this.replicas[shard]) {
      await storage.append({ entries: [{ ...entry, sequence, epoch: this.epoch }] });
      await storage.apply(sequence);
    }
  }

  private newShipping(node: number): LogShipping {
    const logs = this.replicas.map((replicas, shard) => this.logOf(replicas[node], node, shard));
    return shippingOf(this.target, this.clock, `node-${node}`, () => logs);
  }

  private logOf(replica: StoredReplica, node: number, shard: number): ShippableLog {
    return {
      id: { collectionUid: UID, shard },
      view: (): LogView | null => {
        const { firstSequence: first, appliedSequence: committed, lastSequence: last } = replica.storage.state;
        return node === this.leader ? { term: this.epoch, first, committed, last } : null;
      },
      epochOf: (sequence) => {
        const { state } = replica.storage;
        return sequence >= state.firstSequence - 1 && sequence <= state.lastSequence ? epochAt(state, sequence) : null;
      },
      // Small pieces, so that there are many segments.
      entries: async (from): Promise<LoggedEntry[]> =>
        (await replica.storage.read(from, 200)).map(({ write, ...place }) => ({
          ...place,
          at: write?.at ?? null,
          write,
        })),
      shipped: ({ sequence }) => void (this.kept[shard] = Math.max(this.kept[shard], sequence)),
    };
  }
}

describe.each([
  [
    'shards with logs of their own',
    async (target: UnsteadyTarget, clock: ManualClock, random: () => number) =>
      new OwnShards(target, clock, random).start(),
  ],
  [
    'replicas with a log',
    async (target: UnsteadyTarget, clock: ManualClock, random: () => number) =>
      new Replicas(target, clock, random).start(),
  ],
])('%s', (title, make) => {
  test('every moment is restored exactly', async () => {
    const seed = runSeed(title);
    for (let run = 0; run < RUNS; run += 1) await new Life(seededRandom(seed + run), make).live();
  });
});
