import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeepReads } from '../../../../../coordinator/service/routing/deep-reads';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import {
  type SampleBounds,
  ShardedSamplesService,
} from '../../../../../coordinator/service/sampling/sharded-samples-service';
import type { SampleInput } from '../../../../../coordinator/service/service';
import { systemClock } from '../../../../../shared/base/time/clock';
import { item, newCollection, plainService, type PlainService } from '../../../../support/shards/plain-service';

const WORKER = join(__dirname, '../../../../support/threads/projection-worker.js');
const ALL: SampleInput = { size: 100, seed: 1, filter: null, fields: null, vectors: false, dimensions: null };

describe('the samples of a collection', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-samples-'));
  let plain: PlainService;

  beforeEach(async () => {
    plain = await plainService();
    await plain.service.collections.create(newCollection('c', { dim: 3, shards: 4 }));
    await plain.service.vectors.upsert(
      'c',
      Array.from({ length: 30 }, (_, i) => item(`item-${i}`, [i + 1, 1, 2], { metadata: { n: i } })),
    );
  });
  afterEach(() => plain.service.close());
  afterAll(() => rmSync(folder, { recursive: true }));

  function samples(
    given: { bounds?: Partial<SampleBounds>; timeoutMs?: number; worker?: string } = {},
  ): ShardedSamplesService {
    const clock = systemClock;
    const scatter = new ScatterGather({ clock, timeoutMs: given.timeoutMs ?? 30_000, uidOf: async ({ uid }) => uid });
    const bounds = { vectorBytesMax: 1_000_000, itemCharactersMax: 1_000_000, ...given.bounds };
    return new ShardedSamplesService({
      catalog: plain.service.catalog,
      shards: plain.shards,
      scatter,
      deep: new DeepReads(clock),
      clock,
      bounds,
      workerFile: given.worker ?? WORKER,
    });
  }

  function workerOf(code: string): string {
    const file = join(folder, `${code.length}.js`);
    writeFileSync(file, code);
    return file;
  }

  test('are refused when an answer would be too large, with what would do', async () => {
    const small = samples({ bounds: { vectorBytesMax: 60, itemCharactersMax: 100 } });
    await expect(small.sample('c', { ...ALL, vectors: true })).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: expect.stringContaining('take a size of at most 5, or a projection'),
    });
    expect((await small.sample('c', { ...ALL, size: 5, vectors: true })).vectors).toHaveLength(15);
    await expect(small.sample('c', ALL)).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: expect.stringContaining('metadata_fields'),
    });
    expect((await small.sample('c', { ...ALL, fields: [] })).items).toHaveLength(30);
  });

  test('leave out what is deleted while they are drawn', async () => {
    plain.shards.intercept = async (call) => {
      if (call !== 'fetch') return;
      plain.shards.intercept = undefined;
      await plain.service.vectors.delete('c', ['item-3', 'item-4']);
    };
    const { items, population, vectors, projection } = await samples().sample('c', {
      ...ALL,
      vectors: true,
      dimensions: 2,
    });
    expect(population).toBe(30);
    expect(items).toHaveLength(28);
    expect(items.map(({ externalId }) => externalId)).not.toContain('item-3');
    expect(vectors).toHaveLength(28 * 3);
    items.forEach(({ externalId }, i) => expect(vectors?.[i * 3]).toBe(Number(externalId.slice(5)) + 1));
    expect(projection?.coordinates).toHaveLength(28 * 2);
  });

  test('let others have their turn while they choose from long metadata', async () => {
    const long = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${i}`, 'x'.repeat(50)]));
    const items = Array.from({ length: 300 }, (_, i) => item(`long-${i}`, [i, 1, 2], { metadata: long }));
    await plain.service.vectors.upsert('c', items);
    let turns = 0;
    plain.shards.intercept = (call) => {
      if (call === 'fetch')
        setImmediate(function count() {
          turns++;
          if (turns < 1000) setImmediate(count);
        });
    };
    const drawn = await samples({ bounds: { itemCharactersMax: 1e8 } }).sample('c', {
      ...ALL,
      size: 330,
      fields: ['key-7'],
    });
    const chosenInTurns = turns;
    turns = 1000;
    expect(drawn.items.find(({ externalId }) => externalId === 'long-7')?.metadata).toBe(
      `{"key-7":"${'x'.repeat(50)}"}`,
    );
    // 18 MB of JSON take far more than a slice.
    expect(chosenInTurns).toBeGreaterThan(5);
  });

  test('read nothing but ids when nothing else is asked for, and no texts ever', async () => {
    const calls: string[] = [];
    plain.shards.intercept = (call) => void calls.push(call);
    await samples().sample('c', { ...ALL, fields: [] });
    expect(new Set(calls)).toEqual(new Set(['sample']));
  });

  test.each([
    ['ends', `process.exit(1)`],
    ['fails', `require('node:worker_threads').parentPort.on('message', () => { throw new Error('broken'); })`],
  ])('fail as unavailable when the thread that projects %s', async (_what, code) => {
    await expect(samples({ worker: workerOf(code) }).sample('c', { ...ALL, dimensions: 2 })).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  test('don’t wait for a projection longer than a call may take, and then free its place', async () => {
    const stuck = samples({
      timeoutMs: 1_000,
      worker: workerOf(`require('node:worker_threads').parentPort.on('message', () => undefined)`),
    });
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map((seed) => stuck.sample('c', { ...ALL, seed, dimensions: 2 })),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } });
    expect((await stuck.sample('c', { ...ALL, size: 3 })).items).toHaveLength(3);
  });

  test('are of the collection’s dimension at most, and of a collection that is there', async () => {
    await expect(samples().sample('c', { ...ALL, dimensions: 4 })).rejects.toMatchObject({ kind: 'invalid_parameter' });
    await expect(samples().sample('none', ALL)).rejects.toMatchObject({ kind: 'not_found' });
  });
});
