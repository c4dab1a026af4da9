import { NO_REEMBEDDING } from '../support/shards/no-reembedding';
import { StoredRestores } from '../../coordinator/jobs/restore/stored-restores';
import type { Once } from '../../coordinator/service/idempotency/write-dedup';
import { Resharder } from '../../coordinator/jobs/reshard/resharder';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import type { RunningService } from '../../coordinator/service-factory';
import { NO_VERSION, type ShardClient } from '../../shared/contract/shard/shard-client';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Filter } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { silentLogger } from '../../shared/base/logs/logger';
import { systemClock } from '../../shared/base/time/clock';
import { eventually } from '../support/eventually';
import { item, newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { openMemoryStore, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';

/**
 * Writes that are done once, over real shards: calls fail before they are done, or are done and lose their answers,
 * also long after the caller has given them up. Each request is repeated through two coordinators until it is answered,
 * and again when others came in between. What is stored must be what a Map has in which each was done once, and the
 * same answer comes every time.
 */

const COLLECTION = 'c';
const IDS = 10;
const REQUESTS = 120;

type Random = () => number;

/** What each attempt answers, as text: the same for the same outcome. */
type Attempt = (service: RunningService, once: Once) => Promise<unknown>;

/** Shards whose calls fail, lose their answers, and are done when nobody waits for them any more. */
function faulty(client: ShardClient, random: Random, late: Promise<unknown>[]): ShardClient {
  return {
    make: (spec) => client.make(spec),
    open: (spec) => client.open(spec),
    drop: (id) => client.drop(id),
    read: (id, kind, request, call) => client.read(id, kind, request, call),
    write: async (id, operations, call) => {
      const draw = random();
      if (operations[0].type !== 'dedup' || operations[0].term > 0) return client.write(id, operations, call);
      if (draw < 0.12) throw new QuiverError('unavailable', 'a call that failed');
      if (draw < 0.24) {
        const pauseMs = random() * 30;
        late.push(
          new Promise((wake) => setTimeout(wake, pauseMs))
            .then(() => client.write(id, operations, call))
            .catch(() => undefined),
        );
        throw new QuiverError('commit_unknown', 'a call that is done later');
      }
      const result = await client.write(id, operations, call);
      if (draw < 0.4) throw new QuiverError('commit_unknown', 'an answer that was lost');
      return result;
    },
  };
}

class Clients {
  readonly model = new Map<string, { n: number; version: number }>();
  readonly coordinators: RunningService[] = [];
  private readonly late: Promise<unknown>[] = [];
  private readonly done: { attempt: Attempt; once: Omit<Once, 'repeated'>; answer: string }[] = [];
  private count = 0;
  attempts = 0;

  constructor(
    readonly node: ShardNode,
    readonly store: ClusterStore,
    private readonly random: Random,
  ) {}

  async start(shards: number): Promise<void> {
    for (let i = 0; i < 2; i += 1) {
      const shardClient = faulty(this.node.client, seededRandom(Math.floor(this.random() * 2 ** 31)), this.late);
      this.coordinators.push((await plainService({ store: this.store, shardClient })).service);
    }
    await this.coordinators[0].collections.create(newCollection(COLLECTION, { dim: 2, shards }));
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.random() * items.length)];
  }

  ids(count: number): string[] {
    return Array.from({ length: count }, () => `id-${Math.floor(this.random() * IDS)}`);
  }

  /** A new request under a new key; then some older one again. */
  async perform(): Promise<void> {
    const { attempt, isRight } = this.request();
    const earlier = new Map(this.model);
    const token = (++this.count).toString(16).padStart(32, '0');
    const once = { token, digest: 'd'.repeat(32), sealingKey: token + token };
    const answer = await this.until(attempt, once);
    await Promise.all(this.late.splice(0));
    await this.learn();
    if (!answer.startsWith('["'))
      expect({ answer, isRight: isRight(JSON.parse(answer), earlier) }).toEqual({ answer, isRight: true });
    this.done.push({ attempt, once, answer });
    const again = this.pick(this.done);
    const before = this.snapshot();
    expect(await this.until(again.attempt, again.once)).toBe(again.answer);
    await Promise.all(this.late.splice(0));
    await this.learn();
    expect(this.snapshot()).toEqual(before);
    await expect(
      again.attempt(this.pick(this.coordinators), { ...again.once, digest: 'e'.repeat(32), repeated: () => undefined }),
    ).rejects.toMatchObject({
      kind: expect.stringMatching(/key_reused|unavailable|commit_unknown/),
    });
  }

  /** Repeats the request until it has an answer. Now and then two coordinators have it at once. */
  async until(attempt: Attempt, once: Omit<Once, 'repeated'>): Promise<string> {
    for (;;) {
      const services = this.random() < 0.2 ? this.coordinators : [this.pick(this.coordinators)];
      this.attempts += services.length;
      const answers = await Promise.all(
        services.map((service) => answerOf(attempt(service, { ...once, repeated: () => undefined }))),
      );
      const known = answers.filter((answer) => answer !== null);
      expect(new Set(known).size).toBeLessThanOrEqual(1);
      if (known.length > 0) return known[0];
    }
  }

  /** A request, and whether its answer fits what was there before and what is there now. */
  private request(): {
    attempt: Attempt;
    isRight: (answer: any, earlier: ReadonlyMap<string, { n: number; version: number }>) => boolean;
  } {
    const draw = this.random();
    const n = Math.floor(this.random() * 3);
    if (draw < 0.35) {
      const items = this.ids(1 + Math.floor(this.random() * 5)).map((id) => item(id, [n, 1], { metadata: { n } }));
      return { attempt: this.upsert(items), isRight: (answer) => this.isStored(items, answer) };
    }
    if (draw < 0.5) {
      const ids = [...new Set(this.ids(3))];
      const items = ids.map((id) => ({
        ...item(id, [n, 2], { metadata: { n } }),
        expected: this.random() < 0.7 ? (this.model.get(id)?.version ?? NO_VERSION) : 5,
      }));
      return { attempt: this.upsert(items), isRight: (answer) => this.isStored(items, answer) };
    }
    if (draw < 0.62) {
      const ids = [...new Set(this.ids(3))];
      return {
        attempt: ({ vectors }, once) => vectors.delete(COLLECTION, ids, undefined, once),
        isRight: ({ deleted }, earlier) => String(deleted) === String(ids.filter((id) => earlier.has(id))),
      };
    }
    const filter = parsed({ n });
    if (draw < 0.72) {
      const [externalId] = this.ids(1);
      const attempt: Attempt = ({ vectors }, once) =>
        vectors.patch(
          COLLECTION,
          {
            externalId,
            vector: undefined,
            text: undefined,
            metadata: { json: `{"n":${n}}`, replaces: false, bytesMax: 1000, fieldsMax: 10 },
          },
          { once },
        );
      return { attempt, isRight: ({ version }) => this.model.get(externalId)?.version === version };
    }
    const matching = (items: ReadonlyMap<string, { n: number }>): number =>
      [...items.values()].filter((one) => one.n === n).length;
    if (draw < 0.8)
      return {
        attempt: ({ vectors }, once) => vectors.deleteByFilter(COLLECTION, filter, once),
        isRight: ({ deletedCount }, earlier) => deletedCount === matching(earlier),
      };
    const change = { json: `{"seen":${this.count}}`, replaces: false, bytesMax: 1000, fieldsMax: 10 };
    const attempt: Attempt = ({ vectors }, once) =>
      vectors.updateByFilter(COLLECTION, filter, { metadata: change }, { once });
    return { attempt, isRight: ({ updatedCount }, earlier) => updatedCount === matching(earlier) };
  }

  private upsert(items: Parameters<RunningService['vectors']['upsert']>[1]): Attempt {
    return async ({ vectors }, once) => {
      const { statuses, versions } = await vectors.upsert(COLLECTION, items, { once });
      return { statuses, versions };
    };
  }

  /**
   * Whether each id is there in the version that the last item of it got: a write that was done twice has raised it.
   */
  private isStored(items: { externalId: string }[], { versions }: { versions: number[] }): boolean {
    const last = new Map(items.map(({ externalId }, i) => [externalId, versions[i]]));
    return [...last].every(([id, version]) => this.model.get(id)?.version === version);
  }

  /** What is stored now. */
  async learn(): Promise<void> {
    this.model.clear();
    const { pages } = await this.coordinators[0].vectors.export(COLLECTION, 1000);
    for await (const page of pages)
      for (const { externalId, metadata, version } of page)
        this.model.set(externalId, { n: (JSON.parse(metadata) as { n: number }).n, version: version! });
  }

  snapshot(): unknown {
    return [...this.model].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Changes the number of shards, without faults in the driver's calls. */
  async reshard(shards: number): Promise<void> {
    const { node, store } = this;
    const drop = async (intent: { uid: string; shards: number }): Promise<void> => {
      for (let shard = 0; shard < intent.shards; shard += 1)
        await node.client.drop({ collectionUid: intent.uid, shard });
    };
    const resharder = new Resharder({
      store,
      shards: node.client,
      clock: systemClock,
      log: silentLogger,
      leadership: ONLY_DRIVER,
      retireMs: 0,
      drop,
      restores: new StoredRestores(store),
      reembedding: NO_REEMBEDDING,
    });
    await resharder.start();
    await this.coordinators[0].collections.reshard(COLLECTION, shards);
    await eventually(
      'the collection has other shards',
      async () =>
        (await this.coordinators[0].collections.get(COLLECTION)).shards === shards &&
        (await this.coordinators[0].reshards()).length === 0,
    );
    await resharder.close();
  }

  async end(): Promise<void> {
    for (const service of this.coordinators) service.close();
    await Promise.all(this.late);
    await this.node.destroy();
  }
}

/** The answer, or the refusal, as text; null when nothing is known of the outcome. */
async function answerOf(attempt: Promise<unknown>): Promise<string | null> {
  try {
    return JSON.stringify(await attempt);
  } catch (error) {
    if (!isQuiverError(error)) throw error;
    if (error.kind === 'commit_unknown' || error.kind === 'unavailable') return null;
    return JSON.stringify([error.kind, error.message, error.shown]);
  }
}

function parsed(filters: object): Filter {
  return parseFilter(filters)!;
}

describe('writes that are done once', () => {
  test.each([
    { shards: 1, rocks: false },
    { shards: 3, rocks: false },
    { shards: 2, rocks: true },
  ])('%o', async ({ shards, rocks }) => {
    const seed = runSeed(`idempotency ${shards} ${rocks}`);
    const node = await new ShardNode({
      factories: plainFactories,
      openStore: rocks ? openRocksStore : openMemoryStore,
    }).start();
    const clients = new Clients(
      node,
      await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }),
      seededRandom(seed),
    );
    await clients.start(shards);
    for (let i = 0; i < (rocks ? REQUESTS / 3 : REQUESTS); i += 1) {
      await clients.perform();
      // Outcomes follow the items to other shards.
      if (shards === 3 && i % 30 === 29) await clients.reshard([2, 4, 1, 3][Math.floor(i / 30)]);
    }
    expect(clients.attempts).toBeGreaterThan(REQUESTS / 3);
    await clients.end();
  });
});
