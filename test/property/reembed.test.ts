import { createHash } from 'node:crypto';
import { type DriverLeadership, ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import type { Resharder } from '../../coordinator/jobs/reshard/resharder';
import type { EmbeddingModel } from '../../coordinator/models/embedding-provider';
import type { RunningService } from '../../coordinator/service-factory';
import type { ReembedRequest } from '../../coordinator/service/service';
import type { Once } from '../../coordinator/service/idempotency/write-dedup';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { eventually } from '../support/eventually';
import { fetched } from '../support/http/whole-pages';
import { newCollection, PlainEmbedding, plainService } from '../support/shards/plain-service';
import { openMemoryStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { nearest } from '../support/stories/search-forms';
import { callsOf } from '../support/stories/shard-calls';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * A collection that gets vectors of another model while clients read and write it, held against a plain map of texts:
 * the vector of each item is what the model makes of its text.
 */

const COLLECTION = 'c';
/** Items that stay as they are: what looks for their texts finds them. */
const FIXED = 20;
const IDS_OF_CLIENT = 12;
const CLIENTS = 3;

type Random = () => number;

const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

/** A vector of unit length that follows from the model and the text. */
function vectorOf(model: string, dim: number, text: string): Float32Array {
  const vector = Float32Array.from({ length: dim }, (_, i) => {
    const digest = createHash('sha256').update(`${model} ${i} ${text}`).digest();
    return digest.readUInt32LE(0) / 2 ** 31 - 1;
  });
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** `failing`: whether a call fails. */
function hashingModel(name: string, dim: number, failing: () => boolean = () => false): EmbeddingModel {
  return {
    name,
    dim,
    embed: async (texts) => {
      if (failing()) throw new QuiverError('unavailable', `${name} is away`);
      return texts.map((text) => vectorOf(name, dim, text));
    },
  };
}

const OLD = { name: 'old', dim: 8 };
const NEW = { name: 'new', dim: 24 };

const request = (more: Partial<ReembedRequest> = {}): ReembedRequest => ({
  embedding: { model: `local:${NEW.name}` },
  onNoText: 'fail',
  compare: { sample: 50 },
  switch: 'manual',
  keepHours: 1,
  ...more,
});

interface Item {
  text: string;
  metadata: string;
}

/**
 * Makes a write that may be made again until it is known what became of it: shards are dropped as soon as others have
 * taken over, also under a write.
 */
async function surely(write: () => Promise<unknown>): Promise<void> {
  for (let isUnknown = true; isUnknown;) {
    isUnknown = false;
    await write().catch((error: unknown) => {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') throw error;
      isUnknown = true;
    });
  }
}

/** Clients that write items of their own, and remember them. */
class Story {
  readonly items = new Map<string, Item>();
  readonly problems: string[] = [];
  private isStopped = false;
  private clients: Promise<void>[] = [];
  writes = 0;

  constructor(
    readonly service: RunningService,
    private readonly random: Random,
    /** What the vectors of the model are made of; texts are looked for only where that is all. */
    private readonly passageOf: ((model: string, item: Item) => string) | null = null,
  ) {}

  async fill(count = FIXED): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.put(`fixed-${i}`, { text: `text of ${i}`, metadata: `{"n":${i}}` });
  }

  begin(): void {
    this.isStopped = false;
    this.clients = Array.from({ length: CLIENTS }, (_, i) =>
      this.client(i, seededRandom(Math.floor(this.random() * 2 ** 31))),
    );
  }

  async end(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.clients);
  }

  /** Until so many writes more were done. */
  async written(count: number): Promise<void> {
    const until = this.writes + count;
    await eventually(`${count} writes are done`, () => this.writes >= until || this.problems.length > 0);
  }

  async put(externalId: string, { text, metadata }: Item): Promise<void> {
    await surely(() => this.service.vectors.upsert(COLLECTION, [{ externalId, source: { text }, metadata, text }]));
    this.items.set(externalId, { text, metadata });
  }

  /** Another text beside the metadata that there are. */
  private async putText(externalId: string, { metadata }: Item, n: number): Promise<void> {
    const text = `${externalId} again ${n}`;
    const item = { externalId, source: { text }, metadata: undefined, text };
    await surely(() => this.service.vectors.upsert(COLLECTION, [item]));
    this.items.set(externalId, { text, metadata });
  }

  private async client(client: number, random: Random): Promise<void> {
    for (let n = 0; !this.isStopped; n += 1) {
      const externalId = `c${client}-${Math.floor(random() * IDS_OF_CLIENT)}`;
      const known = this.items.get(externalId);
      const draw = random();
      try {
        if (draw < 0.1 && known !== undefined) await this.putText(externalId, known, n);
        else if (draw < 0.2) await this.look(random);
        else if (known === undefined || draw < 0.5)
          await this.put(externalId, { text: `${externalId} ${n}`, metadata: `{"n":${n}}` });
        else if (draw < 0.65) {
          await surely(() => this.service.vectors.delete(COLLECTION, [externalId]));
          this.items.delete(externalId);
        } else await this.patch(externalId, known, { n, isText: draw < 0.85 });
        this.writes += 1;
      } catch (error) {
        this.problems.push(`${externalId}: ${(error as Error).message}`);
        return;
      }
      await pause(random() * 8);
    }
  }

  private async patch(
    externalId: string,
    { text, metadata }: Item,
    { n, isText }: { n: number; isText: boolean },
  ): Promise<void> {
    const patched = isText ? `${externalId} patched ${n}` : undefined;
    const patch = {
      externalId,
      vector: undefined,
      text: patched,
      metadata: isText ? undefined : { json: `{"p":${n}}`, replaces: false, bytesMax: 1_000, fieldsMax: 10 },
    };
    await surely(() => this.service.vectors.patch(COLLECTION, patch));
    this.items.set(externalId, {
      text: patched ?? text,
      metadata: isText ? metadata : JSON.stringify({ ...(JSON.parse(metadata) as object), p: n }),
    });
  }

  /** What looks for the text of an item finds it, whichever model's vectors there are. */
  private async look(random: Random): Promise<void> {
    if (this.passageOf !== null) return;
    const i = Math.floor(random() * FIXED);
    const { hits } = await this.service.search.search(
      COLLECTION,
      nearest({ source: { text: `text of ${i}` }, k: 1, effort: { type: 'exact' } }),
    );
    if (hits[0]?.externalId !== `fixed-${i}` || hits[0].score < 0.999)
      this.problems.push(`text ${i} found ${hits[0]?.externalId} with ${hits[0]?.score}`);
  }

  /** All that differs from the model of the story. */
  async differences(model: { name: string; dim: number }): Promise<string[]> {
    const found = new Map<string, string>();
    const { pages } = await this.service.vectors.export(COLLECTION, 100_000);
    for await (const page of pages) for (const view of page) found.set(view.externalId, view.metadata);
    const differences = [...this.problems];
    for (const externalId of found.keys())
      if (!this.items.has(externalId)) differences.push(`${externalId} is there, and should not be`);
    for (const [externalId, { text, metadata }] of this.items) {
      const [view] = await fetched(this.service.vectors.fetch(COLLECTION, [externalId], { vectors: true }));
      const made = vectorOf(model.name, model.dim, this.passageOf?.(model.name, { text, metadata }) ?? text);
      if (view === undefined) differences.push(`${externalId} is missing`);
      else if (view.text !== text || view.metadata !== metadata)
        differences.push(`${externalId} has ${view.text} ${view.metadata}, not ${text} ${metadata}`);
      else if (view.vector!.length !== model.dim || view.vector!.some((value, k) => value !== made[k]))
        differences.push(`${externalId} has a vector of ${view.vector!.length}`);
    }
    return differences;
  }

  async stepOf(job: string): Promise<string> {
    const { state, step, error } = await this.service.jobs.get(job);
    if (state === 'failed') throw new Error(`the job failed: ${error}`);
    return step ?? state;
  }

  reaches(job: string, step: string): Promise<void> {
    return eventually(`the job is ${step}`, async () => (await this.stepOf(job)) === step);
  }
}

/** A story of a collection with the old model, in a service that drives what is asked of it. */
async function started(
  shards: number,
  seed: number,
  {
    passageOf = null,
    isDriven = true,
  }: { passageOf?: ((model: string, item: Item) => string) | null; isDriven?: boolean } = {},
): Promise<{
  story: Story;
  service: RunningService;
  node: ShardNode;
  store: ClusterStore;
  close: () => Promise<void>;
}> {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const embedding = new PlainEmbedding([hashingModel(OLD.name, OLD.dim), hashingModel(NEW.name, NEW.dim)]);
  const { service, store } = await plainService({ shardClient: node.client, embedding });
  const embeddingOf = { model: `local:${OLD.name}` };
  await service.collections.create({ ...newCollection(COLLECTION, { dim: OLD.dim, shards }), embedding: embeddingOf });
  const story = new Story(service, seededRandom(seed), passageOf);
  const resharder = isDriven ? await service.driveReshards(ONLY_DRIVER, 0) : null;
  return {
    story,
    service,
    node,
    store,
    close: async () => {
      await story.end();
      await resharder?.close();
      service.close();
      await node.destroy();
    },
  };
}

const seed = runSeed('reembedding');

test.each([1, 3])(
  'over %i shards, vectors are of what the template makes of items, and on the way back of texts',
  async (shards) => {
    const passageOf = (model: string, { text, metadata }: Item): string => {
      const { p = '', n } = JSON.parse(metadata) as { p?: number; n: number };
      return model === NEW.name ? `${p}-${n}: ${text}` : text;
    };
    const { story, service, close } = await started(shards, seed + 40 + shards, { passageOf });
    try {
      await story.fill();
      story.begin();
      const { id } = await service.collections.reembed(COLLECTION, request({ template: '{{p}}-{{n}}: {{text}}' }));
      await story.reaches(id, 'ready');
      await story.written(30);
      await service.jobs.switch(id, undefined);
      await story.reaches(id, 'switched');
      await story.written(60);
      await story.end();
      expect(await story.differences(NEW)).toEqual([]);
      const { embedding } = await service.collections.get(COLLECTION);
      expect(embedding).toMatchObject({ template: '{{p}}-{{n}}: {{text}}' });
      story.begin();
      await service.jobs.back(id);
      await story.reaches(id, 'cancelled');
      await story.written(30);
      await story.end();
      expect(await story.differences(OLD)).toEqual([]);
    } finally {
      await close();
    }
  },
);

test.each([1, 2, 5])('over %i shards, every text has its vector before, after and on the way back', async (shards) => {
  const { story, service, node, close } = await started(shards, seed + shards);
  try {
    await story.fill();
    story.begin();
    const { id } = await service.collections.reembed(COLLECTION, request());
    await story.reaches(id, 'ready');
    await story.written(30);
    const ready = await service.jobs.get(id);
    expect(ready).toMatchObject({ kind: 'reembed', state: 'running', subject: 'old (8) to new (24)' });
    // Both models find an item by its own text, and nothing else is near: the others are as chance has them.
    expect(ready.result).toMatchObject({ model: 'new', dim: NEW.dim, dropped: 0, switched_at: null });
    await expect(service.collections.reshard(COLLECTION, shards + 1)).rejects.toMatchObject({ kind: 'already_exists' });
    await service.jobs.switch(id, undefined);
    await story.reaches(id, 'switched');
    await story.written(30);
    await story.end();
    expect(await story.differences(NEW)).toEqual([]);
    expect(await service.collections.get(COLLECTION)).toMatchObject({
      dim: NEW.dim,
      embeddingModel: 'new',
      vectorCount: story.items.size,
    });
    await expect(
      service.vectors.upsert(COLLECTION, [
        { externalId: 'x', source: { vector: new Float32Array(OLD.dim) }, metadata: '{}', text: undefined },
      ]),
    ).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      message: expect.stringMatching(/this collection's vectors are of new since 20/),
    });
    story.begin();
    await service.jobs.back(id);
    await story.reaches(id, 'cancelled');
    await story.written(30);
    await story.end();
    expect(await story.differences(OLD)).toEqual([]);
    await eventually('one set of shards is left', () => node.host.shardCount === shards);
  } finally {
    await close();
  }
});

/** The ten best of the texts for one of them, without that. */
function bestOf(model: { name: string; dim: number }, texts: ReadonlyMap<string, string>, ownId: string): string[] {
  const query = vectorOf(model.name, model.dim, texts.get(ownId)!);
  const scored = [...texts].map(([id, text]) => {
    const vector = vectorOf(model.name, model.dim, text);
    return { id, score: vector.reduce((sum, value, k) => sum + value * query[k], 0) };
  });
  return scored
    .filter(({ id }) => id !== ownId)
    .sort((a, b) => b.score - a.score)
    .slice(0, 10)
    .map(({ id }) => id);
}

test.each([1, 2, 5])(
  'over %i shards, the comparison tells the overlap that a scan by both models has',
  async (shards) => {
    const { story, service, close } = await started(shards, seed);
    try {
      await story.fill(60);
      const { id } = await service.collections.reembed(COLLECTION, request({ compare: { sample: 100 } }));
      await story.reaches(id, 'ready');
      const texts = new Map([...story.items].map(([externalId, { text }]) => [externalId, text]));
      const shares = [...texts.keys()].map((own) => {
        const after = new Set(bestOf(NEW, texts, own));
        return bestOf(OLD, texts, own).filter((externalId) => after.has(externalId)).length / 10;
      });
      const { queries, overlap_at_10: overlap } = (await service.jobs.get(id)).result as Record<string, number>;
      expect(queries).toBe(60);
      expect(overlap).toBeCloseTo(shares.reduce((sum, share) => sum + share, 0) / 60, 9);
      // The models have nothing in common: of 59 others, ten are found by chance.
      expect(overlap).toBeLessThan(0.5);
    } finally {
      await close();
    }
  },
);

test('one that switches by itself keeps the new vectors, and nothing of before once there is no way back', async () => {
  const { story, service, node, close } = await started(2, seed);
  try {
    await story.fill();
    story.begin();
    const { id } = await service.collections.reembed(COLLECTION, request({ switch: 'auto' }));
    await story.reaches(id, 'switched');
    await story.written(20);
    await service.jobs.switch(id, 0);
    await story.reaches(id, 'done');
    await story.end();
    expect(await story.differences(NEW)).toEqual([]);
    await eventually('one set of shards is left', () => node.host.shardCount === 2);
    expect((await service.jobs.get(id)).result).toMatchObject({ model: 'new', kept_until: null });
    await expect(service.jobs.back(id)).rejects.toMatchObject({ kind: 'conflict' });
  } finally {
    await close();
  }
});

test('whoever drives it, and whatever fails, no text is lost or has a vector of the other model', async () => {
  const random = seededRandom(seed + 100);
  const counts = new Map<string, number>();
  const count = (fault: string): void => void counts.set(fault, (counts.get(fault) ?? 0) + 1);
  const { story, node, store, close } = await started(2, seed + 100, { isDriven: false });
  /** How often faults come, of 1: less and less, so a slow machine has an end, too. */
  const often = (): number => 6 / (6 + (counts.get('driver') ?? 0));
  const failing = (): boolean => {
    if (random() > 0.05 * often()) return false;
    count('model');
    return true;
  };
  const { service } = story;
  /** The calls of drivers alone: clients' own do not fail, so each error of theirs is one of the job's. */
  const faulty = callsOf(node.client, async (run, isWrite) => {
    const draw = random() / often();
    if (draw < 0.03) {
      count('call');
      throw new QuiverError('unavailable', 'a call that failed');
    }
    if (draw < 0.06) await pause(20 + random() * 200);
    const result = await run();
    if (draw > 0.06 && draw < 0.08) {
      count('answer');
      throw new QuiverError(isWrite ? 'commit_unknown' : 'unavailable', 'an answer that was lost');
    }
    return result;
  });
  // A process of its own beside that of the clients, over the same store.
  const driving = await plainService({
    shardClient: faulty,
    store,
    embedding: new PlainEmbedding([hashingModel(OLD.name, OLD.dim, failing), hashingModel(NEW.name, NEW.dim, failing)]),
    instanceId: 'driver',
  });
  let isOver = false;
  const drivers = (async () => {
    const leadership: DriverLeadership = ONLY_DRIVER;
    let running: Resharder = await driving.service.driveReshards(leadership, 100);
    const ending: Promise<void>[] = [];
    while (!isOver) {
      await pause((200 + random() * 1200) / often());
      const next = await driving.service.driveReshards(leadership, 100);
      await pause(random() * 200);
      ending.push(running.close());
      running = next;
      count('driver');
    }
    await Promise.all([...ending, running.close()]);
  })();
  try {
    await story.fill();
    story.begin();
    for (let round = 0; round < 2; round += 1) {
      const { id } = await service.collections.reembed(COLLECTION, request());
      await story.reaches(id, 'ready');
      await story.written(10);
      await service.jobs.switch(id, undefined);
      await story.reaches(id, 'switched');
      await story.written(10);
      await eventually('it may go back', async () =>
        service.jobs.back(id).then(
          () => true,
          (error: unknown) => {
            if (isQuiverError(error)) return false;
            throw error;
          },
        ),
      );
      await story.reaches(id, 'cancelled');
      await eventually('the other shards are gone', async () => (await service.reshards()).length === 0);
    }
    await story.end();
    expect(await story.differences(OLD)).toEqual([]);
    for (const fault of ['call', 'answer', 'driver', 'model']) expect(counts.get(fault) ?? 0).toBeGreaterThan(0);
  } finally {
    isOver = true;
    await drivers;
    await story.end();
    driving.service.close();
    await close();
  }
});

test('items without a text make it fail with their ids, or are left out', async () => {
  const { story, service, close } = await started(2, seed);
  const textless = Array.from({ length: 12 }, (_, i) => ({
    externalId: `bare-${i}`,
    source: { vector: vectorOf('given', OLD.dim, `${i}`) },
    metadata: '{}',
    text: undefined,
  }));
  try {
    await story.fill();
    await service.vectors.upsert(COLLECTION, textless);
    const failed = await service.collections.reembed(COLLECTION, request());
    await eventually('it failed', async () => (await service.jobs.get(failed.id)).state === 'failed');
    const told = textless.slice(0, 10).map(({ externalId }) => JSON.stringify(externalId));
    expect((await service.jobs.get(failed.id)).error).toContain(
      `texts are missing in 12 items, such as ${told.join(', ')}:`,
    );
    const { id } = await service.collections.reembed(COLLECTION, request({ onNoText: 'drop', switch: 'auto' }));
    await story.reaches(id, 'switched');
    expect((await service.jobs.get(id)).result).toMatchObject({ dropped: 12 });
    expect(await story.differences(NEW)).toEqual([]);
  } finally {
    await close();
  }
});

test('a write that is under way at the switch has no vector of the model of before', async () => {
  const twin = { name: 'twin', dim: OLD.dim };
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const models = () => new PlainEmbedding([hashingModel(OLD.name, OLD.dim), hashingModel(twin.name, twin.dim)]);
  const { service: driving, store } = await plainService({ shardClient: node.client, embedding: models() });
  let gate: Promise<void> | null = null;
  let waiting = 0;
  const shardClient = callsOf(node.client, async (run, isWrite) => {
    waiting += 1;
    if (isWrite) await gate;
    return run();
  });
  const { service } = await plainService({ shardClient, store, embedding: models(), instanceId: 'clients' });
  const resharder = await driving.driveReshards(ONLY_DRIVER, 0);
  const own = { source: { vector: vectorOf('given', OLD.dim, 'own') }, metadata: '{}' };
  try {
    const embedding = { model: `local:${OLD.name}` };
    await driving.collections.create({ ...newCollection(COLLECTION, { dim: OLD.dim, shards: 1 }), embedding });
    await driving.vectors.upsert(COLLECTION, [{ ...own, externalId: 'own', text: 'first' }]);
    const { id } = await driving.collections.reembed(COLLECTION, request({ embedding: { model: 'local:twin' } }));
    const reaches = (step: string) =>
      eventually(`it is ${step}`, async () => (await driving.jobs.get(id)).step === step);
    await reaches('ready');
    await eventually('the clients know the collection', async () =>
      service.collections.get(COLLECTION).then(
        () => true,
        () => false,
      ),
    );
    let open = (): void => undefined;
    gate = new Promise((done) => (open = done));
    waiting = 0;
    const said = { ...own, vectorModel: OLD.name, text: 'said' };
    const upsert = service.vectors.upsert(COLLECTION, [{ ...said, externalId: 'said' }]);
    const several = service.vectors.upsert(COLLECTION, [
      { externalId: 'of text', source: { text: 'of text' }, vectorModel: 'local:old', metadata: '{}', text: 'of text' },
    ]);
    const given = { externalId: 'own', vector: undefined, metadata: undefined };
    const patched = service.vectors.patch(COLLECTION, { ...given, text: 'second' });
    const outcomes = Promise.allSettled([upsert, several, patched]);
    await eventually('all three are at the shard', () => waiting >= 4);
    await driving.jobs.switch(id, undefined);
    await reaches('switched');
    open();
    const refusal = { kind: 'conflict', message: expect.stringContaining('vectors of "twin"') };
    expect(await outcomes).toEqual([
      { status: 'rejected', reason: expect.objectContaining(refusal) },
      { status: 'rejected', reason: expect.objectContaining(refusal) },
      { status: 'fulfilled', value: expect.anything() },
    ]);
    const views = await fetched(driving.vectors.fetch(COLLECTION, ['own', 'said', 'of text'], { vectors: true }));
    expect(views.map((view) => view?.text)).toEqual(['second', undefined, undefined]);
    expect([...views[0].vector!]).toEqual([...vectorOf(twin.name, twin.dim, 'second')]);
  } finally {
    await resharder.close();
    service.close();
    driving.close();
    await node.destroy();
  }
});

test('it rests while it is paused, and is cancelled without a trace', async () => {
  const { story, service, node, close } = await started(2, seed);
  try {
    await story.fill();
    const { id } = await service.collections.reembed(COLLECTION, request());
    await service.jobs.pause(id);
    expect(await service.jobs.get(id)).toMatchObject({ state: 'paused' });
    await expect(service.jobs.switch(id, undefined)).rejects.toMatchObject({ kind: 'conflict' });
    await service.jobs.resume(id);
    await story.reaches(id, 'ready');
    await expect(service.jobs.back(id)).rejects.toMatchObject({ kind: 'conflict' });
    await service.jobs.cancel(id);
    await story.reaches(id, 'cancelled');
    expect(await story.differences(OLD)).toEqual([]);
    await eventually('one set of shards is left', () => node.host.shardCount === 2);
  } finally {
    await close();
  }
});

test('what was done under a key before the switch is answered as then; others are judged anew', async () => {
  const { story, service, close } = await started(2, seed);
  const { vectors } = service;
  const once = (token: string): Once => ({
    token: token.padStart(32, '0'),
    digest: 'd'.repeat(32),
    sealingKey: 'e'.repeat(64),
    repeated: () => undefined,
  });
  const own = { source: { vector: vectorOf('given', OLD.dim, 'own') }, vectorModel: OLD.name, metadata: '{"n":-1}' };
  const items = ['a', 'b'].map((externalId) => ({ ...own, externalId, text: externalId }));
  const patch = { externalId: 'a', vector: vectorOf('given', OLD.dim, 'other'), text: 'c', metadata: undefined };
  const filter = parseFilter({ n: -1 })!;
  const change = { metadata: { json: '{"n":-2}', replaces: false, bytesMax: 1_000, fieldsMax: 10 } };
  /** The writes under keys that end with `end`. */
  const write = async (end: string): Promise<PromiseSettledResult<unknown>[]> => {
    const upserted = async (skips: boolean) => {
      const { statuses, versions } = await vectors.upsert(COLLECTION, items, { once: once(`1${end}`), skips });
      return { statuses, versions };
    };
    const outcomes: PromiseSettledResult<unknown>[] = [];
    for (const run of [
      () => upserted(false),
      () => upserted(true),
      () => vectors.patch(COLLECTION, patch, { once: once(`2${end}`) }),
      () => vectors.updateByFilter(COLLECTION, filter, change, { once: once(`3${end}`) }),
    ])
      outcomes.push((await Promise.allSettled([run()]))[0]);
    return outcomes;
  };
  try {
    await story.fill(4);
    const first = await write('a');
    expect(first.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
    const { id } = await service.collections.reembed(
      COLLECTION,
      request({ template: '{{n}} {{text}}', switch: 'auto', keepHours: 0 }),
    );
    await story.reaches(id, 'done');
    expect(await write('a')).toEqual(first);
    expect(await write('b')).toMatchObject([
      { reason: { kind: 'dimension_mismatch' } },
      { value: { statuses: ['invalid', 'invalid'] } },
      { reason: { kind: 'dimension_mismatch' } },
      { reason: { kind: 'invalid_parameter', message: expect.stringContaining('(embedding.template)') } },
    ]);
  } finally {
    await close();
  }
});
