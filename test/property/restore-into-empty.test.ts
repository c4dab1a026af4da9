import type { DriverLeadership } from '../../coordinator/jobs/driving/owned-entry';
import { collectionFromEntry, collectionPath } from '../../coordinator/service/collections/collection-record';
import { RESHARDS_PREFIX } from '../../coordinator/service/collections/reshard-record';
import type { RestoreView } from '../../coordinator/service/service';
import type { RunningService } from '../../coordinator/service-factory';
import type { ClusterStore, Guard } from '../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import { eventually, PATIENCE_MS } from '../support/eventually';
import { item, newCollection } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { backedUp, Drivers, restoreEnded, RestoringNode } from '../support/cluster/restoring-node';
import { callsOf } from '../support/stories/shard-calls';
import { scrolledPage } from '../support/http/whole-pages';

/**
 * Backups are restored into a collection again and again while clients write to it and empty it, the restores are given
 * up now and then, and whoever drives them is replaced at any moment, with calls that fail, come late or lose their
 * answers; the shards are real ones, and their process starts again in between. What was acknowledged is there, or what
 * was restored.
 */

const COLLECTION = 'c';
const LIVES = Number(process.env.RESTORES ?? 3);
const ROUNDS = 10;
const SAVED = ['s0', 's1', 's2', 's3', 's4', 's5'];

type Random = () => number;

/** What happens to a driver. */
interface Faults {
  /** How often its calls fail, of 1. */
  often: () => number;
  isDead: () => boolean;
}

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** The shards as a driver sees them whose calls fail, come late, and lose their answers. */
function faulty(client: ShardClient, random: Random, { often, isDead }: Faults): ShardClient {
  const around = async <Result>(run: () => Promise<Result>, isWrite: boolean): Promise<Result> => {
    const draw = random() / often();
    if (isDead()) throw new QuiverError('unavailable', 'the process is gone');
    if (draw < 0.03) throw new QuiverError('unavailable', 'a call that failed');
    if (draw < 0.1) await pause(10 + random() * 200);
    const result = await run();
    if (draw > 0.1 && draw < 0.13)
      throw new QuiverError(isWrite ? 'commit_unknown' : 'unavailable', 'an answer that was lost');
    return result;
  };
  return callsOf(client, around);
}

/** The cluster store as a driver sees it: its answers get lost, and once it is dead it changes nothing any more. */
function losing(store: ClusterStore, random: Random, { often, isDead }: Faults): ClusterStore {
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    transact: async (guards, changes) => {
      if (isDead()) throw new QuiverError('unavailable', 'the process is gone');
      const result = await store.transact(guards, changes);
      if (random() < 0.04 * often()) throw new QuiverError('commit_unknown', 'an answer that was lost');
      return result;
    },
    watch: (prefix, after, listener) => store.watch(prefix, after, listener),
    close: async () => undefined,
  };
}

/** One after the other is the controller; who was it before may not have heard of that. */
class Offices {
  private term = 0;

  constructor(private readonly store: ClusterStore) {}

  async next(): Promise<DriverLeadership> {
    const key = '/q/test-controller';
    await this.store.transact([], [{ type: 'put', key, value: String(++this.term) }]);
    const { revision } = (await this.store.get(key))!;
    const guard: Guard = { key, revision };
    return { guard };
  }
}

/** A life of one collection. */
class Life {
  readonly counts = { restored: 0, refused: 0, conflict: 0, given: 0, driver: 0, restart: 0, written: 0 };
  private readonly leaderships: Offices;
  private backup = '';
  private isOver = false;
  /** What clients know to be there, and ids of which they don't know. */
  private readonly own = new Map<string, number>();
  private readonly unknown = new Set<string>();
  private value = 0;
  /** Drivers of this round. */
  private drivers = 0;

  private constructor(
    private readonly held: RestoringNode,
    private readonly service: RunningService,
    private readonly random: Random,
  ) {
    this.leaderships = new Offices(held.store);
  }

  static async begin(random: Random): Promise<Life> {
    const held = await RestoringNode.start();
    const service = await held.service();
    const life = new Life(held, service, random);
    const drivers = await Drivers.start(service);
    await service.collections.create(newCollection('saved', { shards: 2 }));
    await service.vectors.upsert(
      'saved',
      SAVED.map((id, i) => item(id, [1, i + 1], { metadata: { value: -1 } })),
    );
    life.backup = await backedUp(service);
    await drivers.close();
    await service.collections.create(newCollection(COLLECTION, { shards: 2 }));
    return life;
  }

  async run(): Promise<void> {
    const driving = this.drive();
    try {
      for (let round = 0; round < ROUNDS; round += 1) await this.round();
    } finally {
      this.isOver = true;
      await driving;
    }
    await eventually(
      'nothing is under way',
      async () => (await this.held.store.list(RESHARDS_PREFIX)).entries.length === 0,
    );
    // What a driver was to drop when it was replaced.
    await this.held.service();
    expect(this.held.node.host.shardCount).toBe(2 + (await this.record()).shards);
  }

  end(): Promise<void> {
    return this.held.end();
  }

  /** The collection is emptied, a restore begins, and clients write beside it. */
  private async round(): Promise<void> {
    this.drivers = 0;
    await this.clear();
    const { uid } = await this.record();
    const shards = 1 + Math.floor(this.random() * 4);
    const begun = await this.service.backups
      .restore({ backup: this.backup, collections: ['saved'], rename: { saved: COLLECTION }, shards, keys: false })
      .catch((error: unknown) => {
        if (!isQuiverError(error)) throw error;
        return null;
      });
    if (begun === null) return void (this.counts.refused += 1);
    const { id } = begun;
    const writing = this.write(this.random() < 0.6 ? 0 : Math.floor(this.random() * 12));
    let last: RestoreView | null = null;
    if (this.random() < 0.3) {
      await pause(this.random() * 600);
      // One that is over is forgotten by that.
      last = await this.service.backups.cancelRestore(id).catch(() => null);
    }
    await eventually('the restore is over', async () => {
      const found = (await this.service.backups.restores()).find((one) => one.id === id);
      if (found === undefined) return true;
      last = found;
      return found.state === 'done' || found.state === 'failed';
    });
    await writing;
    const { state, error } = last!;
    const isSwapped = (await this.record()).uid !== uid;
    // One that was given up in time has left nothing.
    expect({ isSwapped, state }).toEqual({
      isSwapped,
      state: isSwapped ? 'done' : error === null ? 'cancelling' : 'failed',
    });
    await this.check(isSwapped, error);
  }

  /** What is there is what clients wrote, and what was restored or nothing else. */
  private async check(isSwapped: boolean, error: string | null): Promise<void> {
    this.counts[isSwapped ? 'restored' : error === null ? 'given' : 'conflict'] += 1;
    if (error !== null) expect(error).toContain('not empty any more');
    const found = new Map(
      (await this.items()).map(({ externalId, metadata }) => [
        externalId,
        (JSON.parse(metadata) as { value: number }).value,
      ]),
    );
    const expected = new Map<string, number>([
      ...(isSwapped ? SAVED.map((id): [string, number] => [id, -1]) : []),
      ...this.own,
    ]);
    for (const id of this.unknown) for (const one of [found, expected]) one.delete(id);
    expect({ isSwapped, found: Object.fromEntries(found) }).toEqual({ isSwapped, found: Object.fromEntries(expected) });
  }

  private async record() {
    return collectionFromEntry((await this.held.store.get(collectionPath(COLLECTION)))!);
  }

  private async clear(): Promise<void> {
    const ids = (await this.items()).map(({ externalId }) => externalId);
    if (ids.length > 0) await this.patiently(() => this.service.vectors.delete(COLLECTION, ids));
    this.own.clear();
    this.unknown.clear();
  }

  /**
   * Ids of their own, and now and then one that the backup has, too. A write and its deletion are both acknowledged.
   */
  private async write(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      await pause(this.random() * 150);
      const id = this.random() < 0.3 ? SAVED[i % SAVED.length] : `w${i}`;
      const value = ++this.value;
      try {
        await this.service.vectors.upsert(COLLECTION, [item(id, [2, value], { metadata: { value } })]);
        this.own.set(id, value);
        this.counts.written += 1;
        if (this.random() < 0.5) continue;
        // Gone again: the collection may be empty when it is sealed. One that the backup has may be restored after
        // that.
        await this.service.vectors.delete(COLLECTION, [id]);
        this.own.delete(id);
        if (SAVED.includes(id)) this.unknown.add(id);
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        this.unknown.add(id);
      }
    }
  }

  /** The process of the shards starts again, with a service of its own, which opens what the store knows of. */
  private async restart(): Promise<void> {
    this.counts.restart += 1;
    await this.held.node.restart();
    await this.held.service();
  }

  /** Again until it succeeds: the shards may be away for a moment. */
  private async patiently<Result>(run: () => Promise<Result>): Promise<Result> {
    for (const untilMs = performance.now() + PATIENCE_MS; ;) {
      try {
        return await run();
      } catch (error) {
        if (!isQuiverError(error) || performance.now() > untilMs) throw error;
        await pause(20);
      }
    }
  }

  private items() {
    return this.patiently(
      async () =>
        (
          await scrolledPage(
            this.service.vectors.scroll(COLLECTION, { cursor: null, limit: 100, filter: null, vectors: false }),
          )
        ).vectors,
    );
  }

  /**
   * One driver after the other; each is left at any moment. Those of a round live longer and longer, and their calls
   * fail less and less often: so a slow machine comes to its end, too.
   */
  private async drive(): Promise<void> {
    const often = (): number => 6 / (6 + this.drivers);
    const endings: Promise<unknown>[] = [];
    while (!this.isOver) {
      const leadership = { ...(await this.leaderships.next()) } as { guard: Guard | null };
      let isDead = false;
      const faults = { often, isDead: () => isDead };
      const view = {
        shardClient: faulty(this.held.client, this.random, faults),
        store: losing(this.held.store, this.random, faults),
      };
      const drivers = await Drivers.start(await this.held.service(view), leadership);
      this.counts.driver += 1;
      this.drivers += 1;
      const untilMs = performance.now() + (200 + this.random() * 3_000) / often();
      while (!this.isOver && performance.now() < untilMs) await pause(20);
      if (this.random() < 0.5) isDead = true;
      leadership.guard = null;
      endings.push(drivers.close());
      if (isDead && this.random() < 0.4) await this.restart();
    }
    await Promise.all(endings);
    // What the last one left.
    const drivers = await Drivers.start(this.service, await this.leaderships.next());
    for (const { id, state } of await this.service.backups.restores())
      if (state === 'running') await restoreEnded(this.service.backups, id);
    await eventually(
      'nothing is under way',
      async () => (await this.held.store.list(RESHARDS_PREFIX)).entries.length === 0,
    );
    await drivers.close();
  }
}

test('a restore into an empty collection loses no acknowledged write, whoever drives it, gives it up or writes meanwhile', async () => {
  const random = seededRandom(runSeed('restore into an empty collection'));
  const total: Record<string, number> = {};
  // Nearly every life has both ends: without either, the test has not seen what it is about.
  for (let life = 0; life < LIVES || !(total.restored > 0 && total.conflict > 0); life += 1) {
    const one = await Life.begin(seededRandom(Math.floor(random() * 2 ** 31)));
    try {
      await one.run();
    } finally {
      await one.end();
    }
    for (const [what, count] of Object.entries(one.counts)) total[what] = (total[what] ?? 0) + count;
  }
  console.log(JSON.stringify(total));
});
