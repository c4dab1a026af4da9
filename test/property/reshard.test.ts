import { NO_REEMBEDDING } from '../support/shards/no-reembedding';
import { StoredRestores } from '../../coordinator/jobs/restore/stored-restores';
import { type DriverLeadership, ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import { Resharder } from '../../coordinator/jobs/reshard/resharder';
import { shardOf } from '../../coordinator/service/routing/shard-router';
import type { RunningService } from '../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import type { ClusterStore, StoreEvent } from '../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import { silentLogger } from '../../shared/base/logs/logger';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import { eventually } from '../support/eventually';
import { newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { contradictionsOf, type RegisterOperation } from '../support/stories/register-history';
import { openMemoryStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { callsOf } from '../support/stories/shard-calls';
import { fetched, scrolledPage } from '../support/http/whole-pages';
import { nearest } from '../support/stories/search-forms';

/**
 * Histories of clients while a collection changes its number of shards again and again, driven by two processes at
 * once, whose calls fail, lose their answers and come late, and which are replaced at any moment. The shards are real
 * ones.
 */

const COLLECTION = 'c';
const IDS = 12;
const CLIENTS = 4;
const SCHEDULES = 3;

type Random = () => number;

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** What happens to drivers. */
interface Faults {
  counts: Map<string, number>;
  /** How often, of 1. */
  often: () => number;
}

/**
 * The shards as a process sees them whose calls fail, lose their answers, or take their time: also after the process is
 * gone.
 */
function faulty(client: ShardClient, random: Random, { counts, often }: Faults): ShardClient {
  const around = async <Result>(run: () => Promise<Result>, isWrite: boolean): Promise<Result> => {
    const draw = random() / often();
    const count = (fault: string): void => void counts.set(fault, (counts.get(fault) ?? 0) + 1);
    if (draw < 0.02) {
      count('failed call');
      throw new QuiverError('unavailable', 'a call that failed');
    }
    if (draw < 0.06) {
      count('late call');
      await pause(20 + random() * 400);
    }
    const result = await run();
    if (draw > 0.06 && draw < 0.075) {
      count('lost answer');
      throw new QuiverError(isWrite ? 'commit_unknown' : 'unavailable', 'an answer that was lost');
    }
    return result;
  };
  return callsOf(client, around);
}

/** The cluster store as a process sees it whose answers get lost. */
function losing(store: ClusterStore, random: Random, { counts, often }: Faults): ClusterStore {
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: async (guards, changes) => {
      const result = await store.transact(guards, changes);
      if (random() > 0.03 * often()) return result;
      counts.set('lost answer of the store', (counts.get('lost answer of the store') ?? 0) + 1);
      throw new QuiverError('commit_unknown', 'an answer that was lost');
    },
    watch: (prefix, after, listener) => store.watch(prefix, after, listener),
    close: async () => undefined,
  };
}

/** The cluster store as a process sees it that hears of changes late. */
function lagging(store: ClusterStore, random: Random): ClusterStore {
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: (guards, changes) => store.transact(guards, changes),
    watch: (prefix, after, listener) => {
      let last = Promise.resolve();
      const late = (events: StoreEvent[]): void => {
        last = last.then(() => pause(random() * 60)).then(() => listener(events));
      };
      return store.watch(prefix, after, late);
    },
    close: async () => undefined,
  };
}

class Schedule {
  readonly history: RegisterOperation[] = [];
  readonly problems: string[] = [];
  readonly counts = new Map<string, number>();
  readonly store: ClusterStore;
  /** What the drivers say. */
  private readonly log = {
    ...silentLogger,
    ...Object.fromEntries(
      (['info', 'warn', 'error'] as const).map((level) => [
        level,
        (fields: object, message: string) => this.say(level, fields, message),
      ]),
    ),
  };
  private readonly said: string[] = [];
  private isStopped = false;
  private version = 0;
  /** Drivers since the number of shards was last changed. */
  private replaced = 0;
  private readonly random: Random;

  private constructor(
    private readonly node: ShardNode,
    store: ClusterStore,
    private readonly coordinators: RunningService[],
    seed: number,
  ) {
    this.store = store;
    this.random = seededRandom(seed);
  }

  static async begin(seed: number): Promise<Schedule> {
    const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
    const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    const random = seededRandom(seed + 1);
    const coordinators: RunningService[] = [];
    for (const view of [store, lagging(store, random)])
      coordinators.push((await plainService({ store: view, shardClient: node.client })).service);
    await coordinators[0].collections.create(newCollection(COLLECTION, { dim: 2, shards: 1 }));
    return new Schedule(node, store, coordinators, seed);
  }

  /** Clients run while the number of shards changes this often. */
  async run(shardCounts: number[]): Promise<void> {
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      this.client(client, seededRandom(Math.floor(this.random() * 2 ** 31))),
    );
    const drivers = this.drivers(seededRandom(Math.floor(this.random() * 2 ** 31)));
    try {
      for (const shards of shardCounts) await this.reshard(shards);
    } finally {
      this.isStopped = true;
      await Promise.all([...clients, drivers]);
    }
  }

  private say(level: string, fields: object, message: string): void {
    const { error, ...facts } = fields as { error?: Error | null };
    this.said.push(`${level} ${message} ${JSON.stringify(facts)} ${error?.message ?? ''}`);
  }

  /** What clients see at the end, through each coordinator. */
  async settle(): Promise<void> {
    for (const service of this.coordinators)
      for (let id = 0; id < IDS; id += 1) await this.perform(-1, service, 'read', `id-${id}`);
  }

  async exported(service = this.coordinators[0]): Promise<unknown[]> {
    const { pages } = await service.vectors.export(COLLECTION, 1000);
    const found: unknown[] = [];
    for await (const page of pages)
      found.push(
        ...page.map(({ externalId, metadata, text, vector, version }) => ({
          externalId,
          metadata,
          text,
          version,
          vector: [...vector!],
        })),
      );
    return found;
  }

  /** Without faults. */
  async quietly(shards: number): Promise<void> {
    const resharder = this.resharder(this.node.client, this.store);
    await resharder.start();
    await this.reshard(shards);
    await eventually('the old shards are gone', async () => (await this.coordinators[0].reshards()).length === 0);
    await resharder.close();
    // What a driver was to drop when it was replaced.
    await this.coordinators[0].recover();
  }

  /** Shards of the process. */
  shardsOpen(): number {
    return this.node.host.shardCount;
  }

  async end(): Promise<void> {
    for (const service of this.coordinators) service.close();
    await this.node.destroy();
  }

  private resharder(shards: ShardClient, store: ClusterStore, leadership: DriverLeadership = ONLY_DRIVER): Resharder {
    return new Resharder({
      store,
      shards,
      clock: systemClock,
      log: this.log,
      leadership,
      retireMs: 300,
      restores: new StoredRestores(store),
      reembedding: NO_REEMBEDDING,
      drop: async (intent) => {
        for (let shard = 0; shard < intent.shards; shard += 1)
          await this.node.client.drop({ collectionUid: intent.uid, shard });
      },
    });
  }

  private async reshard(shards: number): Promise<void> {
    this.replaced = 0;
    const [service] = this.coordinators;
    let isCancelled = false;
    await eventually('a reshard begins', async () => {
      const begun = await service.collections
        .reshard(COLLECTION, shards)
        .catch((error: unknown) => (isQuiverError(error) ? null : Promise.reject(error)));
      return begun !== null || (await service.collections.get(COLLECTION)).shards === shards;
    });
    const last = async (error: Error): Promise<never> => {
      throw new Error([error.message, JSON.stringify(await service.reshards()), ...this.said.slice(-12)].join('\n'));
    };
    await eventually(`it has ${shards} shards`, async () => {
      if (!isCancelled && this.random() < 0.01) {
        isCancelled = true;
        await service.collections.cancelReshard(COLLECTION).then(
          () => this.counts.set('cancelled', (this.counts.get('cancelled') ?? 0) + 1),
          () => undefined,
        );
      }
      const stuck = (await service.reshards()).find(({ state }) => state === 'stuck' || state === 'failed');
      if (stuck !== undefined) throw new Error(`the reshard is ${stuck.state}: ${stuck.error}`);
      if ((await service.collections.get(COLLECTION)).shards === shards) return true;
      if ((await service.reshards()).length === 0)
        await service.collections.reshard(COLLECTION, shards).catch(() => undefined);
      return false;
    }).catch(last);
  }

  /**
   * One driver after the other, and two for a while each time; what one has under way when it is replaced goes on.
   * Those of one reshard live longer and longer, and their calls fail less and less often: so a slow machine comes to
   * its end, too.
   */
  private async drivers(random: Random): Promise<void> {
    const faults = { counts: this.counts, often: () => 6 / (6 + this.replaced) };
    const begin = async (): Promise<Resharder> => {
      const resharder = this.resharder(faulty(this.node.client, random, faults), losing(this.store, random, faults));
      await resharder.start();
      return resharder;
    };
    let running = await begin();
    const ending: Promise<void>[] = [];
    while (!this.isStopped) {
      await pause((200 + random() * 1500) / faults.often());
      const next = await begin();
      await pause(random() * 200);
      ending.push(running.close());
      running = next;
      this.replaced += 1;
      this.counts.set('replaced driver', (this.counts.get('replaced driver') ?? 0) + 1);
    }
    await Promise.all([...ending, running.close()]);
  }

  private async client(client: number, random: Random): Promise<void> {
    while (!this.isStopped) {
      const service = this.coordinators[Math.floor(random() * this.coordinators.length)];
      const draw = random();
      const id = `id-${Math.floor(random() * IDS)}`;
      if (draw < 0.05) await this.readWhole(client, service, random() < 0.5 ? 'search' : 'scroll');
      else await this.perform(client, service, draw < 0.4 ? 'write' : draw < 0.55 ? 'delete' : 'read', id);
      await pause(random() * 12);
    }
  }

  private async perform(
    client: number,
    { vectors }: RunningService,
    kind: RegisterOperation['kind'],
    id: string,
  ): Promise<void> {
    const value = kind === 'write' ? ++this.version : null;
    const operation: RegisterOperation = {
      client,
      id,
      kind,
      value,
      invokedMs: performance.now(),
      returnedMs: Infinity,
      outcome: 'unknown',
    };
    this.history.push(operation);
    try {
      if (kind === 'write')
        await vectors.upsert(COLLECTION, [
          {
            externalId: id,
            source: { vector: Float32Array.from([1, value!]) },
            metadata: JSON.stringify({ value }),
            text: `text ${value}`,
          },
        ]);
      else if (kind === 'delete') await vectors.delete(COLLECTION, [id]);
      else operation.value = valueOf((await fetched(vectors.fetch(COLLECTION, [id], { vectors: true })))[0]);
      operation.returnedMs = performance.now();
      operation.outcome = 'ok';
    } catch (error) {
      // Clients' own calls do not fail here, so each error is one of the reshard's.
      this.problems.push(`a ${kind} failed: ${(error as Error).message}`);
    }
  }

  /** A read of the whole collection is one of every id. */
  private async readWhole(
    client: number,
    { vectors, search }: RunningService,
    how: 'search' | 'scroll',
  ): Promise<void> {
    const invokedMs = performance.now();
    const found = new Map<string, number | null>();
    const note = (one: { externalId: string; metadata: string }): void => {
      if (found.has(one.externalId)) this.problems.push(`a ${how} found ${one.externalId} twice`);
      found.set(one.externalId, valueOf(one));
    };
    try {
      if (how === 'scroll')
        (
          await scrolledPage(vectors.scroll(COLLECTION, { cursor: null, limit: 100, filter: null, vectors: false }))
        ).vectors.forEach(note);
      else {
        const source = { vector: Float32Array.from([1, 1]) };
        const { hits, totalCount } = await search.search(
          COLLECTION,
          nearest({ source, k: 100, offset: 0, filter: null, effort: { type: 'exact' } }),
        );
        hits.forEach(note);
        if (totalCount === null || totalCount > IDS) this.problems.push(`a search counted ${totalCount} vectors`);
      }
    } catch (error) {
      this.problems.push(`a ${how} failed: ${(error as Error).message}`);
      return;
    }
    const returnedMs = performance.now();
    for (let i = 0; i < IDS; i += 1)
      this.history.push({
        client,
        id: `id-${i}`,
        kind: 'read',
        value: found.get(`id-${i}`) ?? null,
        invokedMs,
        returnedMs,
        outcome: 'ok',
      });
  }
}

function valueOf(view: { metadata: string } | undefined): number | null {
  return view === undefined ? null : (JSON.parse(view.metadata) as { value: number }).value;
}

const FAULTS = ['failed call', 'late call', 'lost answer', 'lost answer of the store', 'replaced driver'];

test('clients see one collection while its number of shards changes, whoever drives that and however often it is given up', async () => {
  const random = seededRandom(runSeed('reshard histories'));
  const happened = new Map<string, number>();
  const newSeed = (): number => Math.floor(random() * 2 ** 31);
  const story = async (seed: number) => {
    const schedule = await Schedule.begin(seed);
    try {
      await schedule.run([3, 8, 2]);
      await schedule.settle();
      const before = await schedule.exported();
      await schedule.quietly(5);
      const after = await schedule.exported();
      for (const [fault, count] of schedule.counts) happened.set(fault, (happened.get(fault) ?? 0) + count);
      return {
        seed,
        problems: [...schedule.problems, ...contradictionsOf(schedule.history)],
        isSame: JSON.stringify(before) === JSON.stringify(after),
        open: schedule.shardsOpen(),
        operations: schedule.history.length,
      };
    } finally {
      await schedule.end();
    }
  };
  const seeds = Array.from({ length: Number(process.env.RESHARDS ?? SCHEDULES) }, newSeed);
  const found = await Promise.all(seeds.map(story));
  // Faults are drawn call by call, and how many calls there are is the machine's.
  while (FAULTS.some((fault) => !happened.has(fault))) found.push(await story(newSeed()));
  console.log(
    JSON.stringify({ operations: found.map(({ operations }) => operations), ...Object.fromEntries(happened) }),
  );
  for (const { seed, problems, isSame, open } of found)
    expect({ seed, problems, isSame, open }).toEqual({ seed, problems: [], isSame: true, open: 5 });
});

/** A service over real shards, with a driver to which nothing happens. */
async function withDriver(
  run: (service: RunningService, node: ShardNode) => Promise<void>,
  {
    fieldsMax,
    around = (client) => client,
  }: { fieldsMax?: number; around?: (client: ShardClient) => ShardClient } = {},
): Promise<void> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore, fieldsMax }).start();
  const { service } = await plainService({ shardClient: around(node.client) });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  try {
    await run(service, node);
  } finally {
    await resharder.close();
    service.close();
    await node.destroy();
  }
}

const itemWith = (externalId: string, metadata: object) => ({
  externalId,
  source: { vector: Float32Array.of(1, 2) },
  metadata: JSON.stringify(metadata),
  text: undefined,
});

test('a collection that is deleted takes both sets of shards along', async () => {
  await withDriver(async ({ collections, vectors, reshards }, node) => {
    await collections.create(newCollection('gone', { dim: 2, shards: 2 }));
    await vectors.upsert('gone', [itemWith('a', {})]);
    await collections.reshard('gone', 5);
    await eventually('the new shards are there', () => node.host.shardCount > 2);
    await collections.delete('gone');
    await eventually('nothing is left', async () => node.host.shardCount === 0 && (await reshards()).length === 0);
  });
});

test('a reshard that can not be done is undone, shown with its reason, and can be begun again', async () => {
  await withDriver(
    async ({ collections, vectors, reshards }, node) => {
      await collections.create(newCollection('wide', { dim: 2, shards: 2 }));
      // One field for each shard, as many as one may have.
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
        await vectors.upsert('wide', [itemWith(id, { [`field ${shardOf(id, 2)}`]: 1 })]);
      await collections.reshard('wide', 1);
      await eventually('it failed', async () => (await reshards())[0]?.state === 'failed');
      expect((await reshards())[0].error).toContain('MAX_COLLECTION_FIELDS');
      await eventually('the new shard is gone', () => node.host.shardCount === 2);
      expect(await collections.get('wide')).toMatchObject({ shards: 2, vectorCount: 6 });
      await vectors.upsert('wide', [itemWith('a', {})]);
      await expect(collections.reshard('wide', 2)).rejects.toMatchObject({ kind: 'invalid_parameter' });
      await collections.reshard('wide', 4);
      await eventually('it has four', async () => (await collections.get('wide')).shards === 4);
      await expect(collections.cancelReshard('missing')).rejects.toMatchObject({ kind: 'not_found' });
    },
    { fieldsMax: 1 },
  );
});

test('a reshard that begins while another one was begun and given up has a later term than that', async () => {
  let meanwhile: (() => Promise<void>) | null = null;
  /** Once, something happens between what a shard answers and that this is heard. */
  const slow = (client: ShardClient): ShardClient => ({
    make: (spec) => client.make(spec),
    open: (spec) => client.open(spec),
    drop: (id) => client.drop(id),
    write: (id, operations, call) => client.write(id, operations, call),
    read: async (id, kind, request, call) => {
      const answer = await client.read(id, kind, request, call);
      const act = kind === 'transfer' ? meanwhile : null;
      if (act !== null) meanwhile = null;
      await act?.();
      return answer;
    },
  });
  await withDriver(
    async ({ collections, reshards }) => {
      await collections.create(newCollection('twice', { dim: 2, shards: 1 }));
      meanwhile = async () => {
        await collections.reshard('twice', 5);
        await eventually('it goes on in a later term', async () => (await reshards())[0]?.state === 'filling');
        await collections.cancelReshard('twice');
        await eventually('it was given up', async () => (await reshards()).length === 0);
      };
      await collections.reshard('twice', 3);
      await eventually(
        'it has three',
        async () => (await collections.get('twice')).shards === 3 || (await reshards())[0]?.state === 'stuck',
      );
      expect((await collections.get('twice')).shards).toBe(3);
    },
    { around: slow },
  );
});
