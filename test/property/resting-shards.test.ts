import { cpSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ShardId, ShardSpec, UpsertOperation } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';
import { nativeFactories, NO_HURRY, openRocksStore, ShardNode } from '../support/shards/shard-node';

/** Shards that are closed between any two uses answer as if they had been open all the time. */

const DIM = 3;
const COLLECTIONS = 12;
const IDS = 20;
const seed = runSeed('resting shards');

/** Nothing is closed by itself, for nothing is unused for so long. */
const RESTS = { afterMs: 3_600_000, openMax: 4 };

const idOf = (n: number, made = 0): ShardId => ({ collectionUid: `c${n}-${made}`, shard: 0 });
const specOf = (id: ShardId): ShardSpec => ({ ...id, dim: DIM, metric: 'l2' });

interface Item {
  vector: number[];
  metadata: string;
  text: string;
}

/** What a collection is to hold. */
interface Model {
  id: ShardId;
  items: Map<string, Item>;
}

class Run {
  readonly random: () => number;
  readonly node: ShardNode;
  readonly models: Model[] = [];
  private stamp = 0;

  constructor(round: number) {
    this.random = seededRandom(seed + round);
    this.node = new ShardNode({ factories: nativeFactories, openStore: openRocksStore, rests: RESTS });
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  async begin(): Promise<void> {
    await this.node.start();
    for (let n = 0; n < COLLECTIONS; n += 1) {
      this.models.push({ id: idOf(n), items: new Map() });
      await this.node.client.make(specOf(idOf(n)));
    }
  }

  async write(model: Model): Promise<void> {
    const operations: UpsertOperation[] = Array.from({ length: 1 + this.below(4) }, () => {
      const vector = Array.from({ length: DIM }, () => this.below(5));
      const externalId = `i${this.below(IDS)}`;
      const item = { vector, metadata: JSON.stringify({ n: this.below(3) }), text: `word${this.below(4)}` };
      model.items.delete(externalId);
      model.items.set(externalId, item);
      this.stamp += 1;
      return {
        type: 'upsert',
        externalId,
        vector: Float32Array.from(vector),
        stamp: this.stamp,
        metadata: item.metadata,
        text: item.text,
      };
    });
    // Of one id, the last counts.
    const last = new Map(operations.map((operation) => [operation.externalId, operation]));
    await this.node.client.write(model.id, [...last.values()], NO_HURRY);
  }

  async remove(model: Model): Promise<void> {
    const externalId = `i${this.below(IDS)}`;
    model.items.delete(externalId);
    await this.node.client.write(model.id, [{ type: 'delete', externalId }], NO_HURRY);
  }

  async makeAnew(n: number): Promise<void> {
    await this.node.client.drop(this.models[n].id);
    await expect(this.node.client.read(this.models[n].id, 'count', null, NO_HURRY)).rejects.toMatchObject({
      kind: 'not_found',
    });
    const made = Number(this.models[n].id.collectionUid.split('-')[1]) + 1;
    this.models[n] = { id: idOf(n, made), items: new Map() };
    await this.node.client.make(specOf(this.models[n].id));
  }

  /** Everything that the shard says of itself is what it is to hold. */
  async check({ id, items }: Model): Promise<void> {
    const { client } = this.node;
    // Before anything opens it.
    const { vectorCount } = await client.read(id, 'status', null, NO_HURRY);
    expect(vectorCount).toBe(items.size);
    const found = await client.read(
      id,
      'fetch',
      { externalIds: Array.from({ length: IDS }, (_, n) => `i${n}`), vectors: true, texts: true },
      NO_HURRY,
    );
    const held = found.flatMap((item) =>
      item === null ? [] : [[item.externalId, [...item.vector!], item.metadata, item.text]],
    );
    const wanted = [...items].map(([externalId, { vector, metadata, text }]) => [externalId, vector, metadata, text]);
    const byId = (one: unknown[], other: unknown[]): number => (String(one[0]) < String(other[0]) ? -1 : 1);
    expect(held.sort(byId)).toEqual(wanted.sort(byId));
    const vector = Float32Array.from({ length: DIM }, () => this.below(5));
    const { hits } = await client.read(
      id,
      'search',
      {
        vector,
        k: IDS,
        effort: { type: 'exact' },
        filter: { type: 'range', path: 'n', operator: 'gte', bound: 1 },
        texts: false,
      },
      NO_HURRY,
    );
    expect(new Set(hits.map(({ externalId }) => externalId))).toEqual(
      new Set(wanted.flatMap(([externalId, , metadata]) => (JSON.parse(String(metadata)).n >= 1 ? [externalId] : []))),
    );
    expect(new Set(hits.map(({ externalId }) => externalId)).size).toBe(hits.length);
    expect(await client.read(id, 'count', null, NO_HURRY)).toBe(items.size);
  }

  /** One of the things that happen, any number of which may overlap. */
  async step(): Promise<void> {
    const n = this.below(COLLECTIONS);
    const model = this.models[n];
    const kind = this.below(12);
    if (kind < 5) await this.write(model);
    else if (kind < 7) await this.remove(model);
    else if (kind < 10) await this.check(model);
    else if (kind < 11) await this.makeAnew(n);
    else await this.node.host.restUnused(0);
  }
}

test.each([1, 2, 3])(
  'after any writes, removals, drops, closings and starts, every shard has what it is to have (round %i)',
  async (round) => {
    const run = new Run(round);
    try {
      await run.begin();
      let rested = 0;
      for (let n = 0; n < 120; n += 1) {
        await run.step();
        if (run.below(4) === 0) await run.node.host.restUnused(0);
        rested = Math.max(rested, run.node.host.restingShards);
        if (n % 40 === 39) {
          await run.node.restart();
          for (const { id } of run.models) await run.node.client.open(specOf(id));
        }
      }
      // It was tried.
      expect(rested).toBe(COLLECTIONS);
      for (const model of run.models) await run.check(model);
      expect(run.node.log.messages('error')).toEqual([]);
    } finally {
      await run.node.destroy();
    }
  },
);

test('reads and writes that come while shards are closed and opened are all done, each once', async () => {
  const run = new Run(100);
  const { node } = run;
  try {
    await run.begin();
    let isOver = false;
    const closing = (async () => {
      while (!isOver) {
        await node.host.restUnused(0);
        await new Promise((wake) => setImmediate(wake));
      }
    })();
    // Each lane has collections of its own, so that its model says what they hold.
    const lanes = Array.from({ length: 4 }, async (_, lane) => {
      for (let n = 0; n < 60; n += 1) {
        const model = run.models[lane * 3 + (n % 3)];
        await (n % 3 === 2 ? run.check(model) : n % 7 === 5 ? run.remove(model) : run.write(model));
      }
    });
    await Promise.all(lanes).finally(() => (isOver = true));
    await closing;
    for (const model of run.models) await run.check(model);
    expect(node.log.messages('error')).toEqual([]);
  } finally {
    await node.destroy();
  }
});

test('a start opens none of those that were closed in order, and answers for them; one of which data are gone is told', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-resting-'));
  const node = new ShardNode({ factories: nativeFactories, openStore: openRocksStore, rests: RESTS, folder });
  const upsert = (externalId: string): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2, 3),
    stamp: 5,
    metadata: '{}',
    text: undefined,
  });
  const ids = [0, 1, 2, 3].map((n) => idOf(n));
  const openAll = () => Promise.allSettled(ids.map((id) => node.client.open(specOf(id))));
  try {
    await node.start();
    for (const id of ids) {
      await node.client.make(specOf(id));
      await node.client.write(id, [upsert('a'), upsert('b')], NO_HURRY);
    }
    await node.stop();
    const place = ({ collectionUid }: ShardId): string => join(folder, 'shards', collectionUid, '0');
    // An earlier copy of one, as it is put back from a copy of the disk.
    cpSync(place(ids[3]), join(folder, 'copy'), { recursive: true });
    await node.start();
    expect((await openAll()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(node.host.restingShards).toBe(4);
    expect(node.host.closedReplicas).toBe(0);
    for (const id of ids)
      expect(await node.client.read(id, 'status', null, NO_HURRY)).toMatchObject({ vectorCount: 2, lastStamp: 5 });
    expect((await node.host.observe()).map(({ data }) => data.status.vectorCount)).toEqual([2, 2, 2, 2]);
    expect(node.host.restingShards).toBe(4);
    expect(
      readdirSync('/proc/self/fd')
        .flatMap((fd) => linkOf(fd))
        .filter((path) => path.startsWith(folder)),
    ).toEqual([]);
    await node.client.write(ids[3], [upsert('c')], NO_HURRY);
    await node.stop();

    rmSync(place(ids[0]), { recursive: true });
    const [table] = readdirSync(join(place(ids[1]), 'records')).filter((name) => /\.(?:sst|log)$/.test(name));
    rmSync(join(place(ids[1]), 'records', table));
    rmSync(place(ids[3]), { recursive: true });
    cpSync(join(folder, 'copy'), place(ids[3]), { recursive: true });
    await node.start();
    const outcomes = await openAll();
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', expect.any(String), 'fulfilled', 'rejected']);
    expect(outcomes[0]).toMatchObject({
      reason: { kind: 'storage_damaged', message: expect.stringContaining('its data are gone') },
    });
    expect(outcomes[3]).toMatchObject({
      reason: { kind: 'storage_damaged', message: expect.stringContaining('earlier copy') },
    });
    // Never emptiness: what is told of it before is what it has.
    const [, second] = outcomes;
    if (second.status === 'fulfilled') expect(await node.client.read(ids[1], 'count', null, NO_HURRY)).toBe(2);
    else expect(second.reason).toMatchObject({ kind: 'storage_damaged' });
    expect(node.host.restingShards).toBe(1);
    await node.client.drop(ids[2]);
    expect(existsSync(place(ids[2]))).toBe(false);
    await expect(node.client.read(ids[2], 'status', null, NO_HURRY)).rejects.toMatchObject({ kind: 'not_found' });
  } finally {
    await node.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('items expire in a shard that is closed, and are removed', async () => {
  let nowMs = 1_800_000_000_000;
  const clock = { wallMs: () => nowMs, monotonicMs: () => performance.now() };
  const node = new ShardNode({
    factories: nativeFactories,
    openStore: openRocksStore,
    rests: RESTS,
    clock: clock as never,
  });
  const id = idOf(0);
  try {
    await node.start();
    await node.client.make(specOf(id));
    const upsert = (externalId: string, more: object = {}): UpsertOperation => ({
      type: 'upsert',
      externalId,
      vector: Float32Array.of(1, 2, 3),
      stamp: 5,
      metadata: '{}',
      text: undefined,
      ...more,
    });
    await node.client.write(id, [upsert('stays'), upsert('goes', { expiresAt: nowMs + 600_000 })], NO_HURRY);
    await node.host.restUnused(0);
    expect(node.host.restingShards).toBe(1);
    expect((await node.client.read(id, 'status', null, NO_HURRY)).vectorCount).toBe(2);
    nowMs += 600_001;
    expect((await node.client.read(id, 'status', null, NO_HURRY)).vectorCount).toBe(1);
    // It stays open until the record is removed, too.
    await eventually('it is removed, and the shard is closed again', async () => {
      await node.host.restUnused(0);
      return node.host.restingShards === 1;
    });
    expect((await node.client.read(id, 'status', null, NO_HURRY)).vectorCount).toBe(1);
  } finally {
    await node.destroy();
  }
});

test('beyond those that may be open, the longest unused are closed, and each is opened by its next use', async () => {
  let nowMs = 0;
  const node = new ShardNode({
    factories: nativeFactories,
    openStore: openRocksStore,
    rests: { ...RESTS, monotonicMs: () => nowMs },
    openShardsMax: 4,
  });
  // Long enough for those that others need the files of, and too short for anything else.
  const unused = async (): Promise<void> => {
    await node.host.restUnused(3_600_000);
    nowMs += 60_000;
  };
  try {
    await node.start();
    for (let n = 0; n < 10; n += 1) {
      await node.client.make(specOf(idOf(n)));
      await node.client.write(
        idOf(n),
        [
          {
            type: 'upsert',
            externalId: `i${n}`,
            vector: Float32Array.of(n, 0, 0),
            stamp: 1,
            metadata: '{}',
            text: undefined,
          },
        ],
        NO_HURRY,
      );
      await unused();
    }
    expect(node.host.shardCount).toBe(10);
    expect(node.host.shardCount - node.host.restingShards).toBeLessThanOrEqual(4);
    for (let n = 0; n < 10; n += 1) {
      await unused();
      const hits = await node.client.read(
        idOf(n),
        'search',
        { vector: Float32Array.of(n, 0, 0), k: 1, effort: { type: 'exact' }, filter: null, texts: false },
        NO_HURRY,
      );
      expect(hits.hits.map(({ externalId }) => externalId)).toEqual([`i${n}`]);
    }
  } finally {
    await node.destroy();
  }
});

/** Where an open file is. */
function linkOf(fd: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${fd}`)];
  } catch {
    return [];
  }
}
