import { ItemEmbedder } from '../../../../../coordinator/jobs/reshard/item-embedder';
import type { ItemState } from '../../../../../coordinator/jobs/reshard/shard-transfers';
import { Superseded } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { EmbeddingModel } from '../../../../../coordinator/models/embedding-provider';
import { modelFailure, TextFailure } from '../../../../../coordinator/models/transformers/model-failure';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../support/manual-clock';

const MODEL = { dim: 2, embeddingModel: 'm', embedding: null };

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

const embedderOf = (embed: EmbeddingModel['embed']): ItemEmbedder =>
  new ItemEmbedder({ clock, embedding: { modelFor: async () => ({ name: 'm', dim: 2, embed }) } });

const vectorsOf = (texts: readonly string[]): Float32Array[] =>
  texts.map(({ length }) => Float32Array.from([length, 1]));

const states = (texts: readonly string[]): ItemState[] =>
  texts.map((text, i) => ({
    externalId: `id-${i}`,
    item: { externalId: `id-${i}`, stamp: i, metadata: '{}', text } as ItemState['item'],
  }));

const going = { drops: false, stop: new AbortController().signal };

describe('a model that does not take one of many texts', () => {
  const embedder = (): ItemEmbedder =>
    embedderOf(async (texts) => {
      if (texts.includes('bad')) throw new TextFailure('m does not take a text');
      return vectorsOf(texts);
    });
  const texts = Array.from({ length: 150 }, (_, i) => (i === 77 ? 'bad' : `text ${i}`));

  test('is told with the id of the item', async () => {
    await expect(embedder().of(MODEL, states(texts), going)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('does not take the text of item "id-77"'),
    });
  });

  test('has it left out where such items are, and all others made', async () => {
    const made = await embedder().of(MODEL, states(texts), { ...going, drops: true });
    expect(made.map(({ externalId }) => externalId)).toEqual(texts.map((_, i) => `id-${i}`));
    expect(made.filter(({ item }) => item === null).map(({ externalId }) => externalId)).toEqual(['id-77']);
    for (const [i, { item }] of made.entries())
      if (item !== null) expect(item.vector).toEqual(vectorsOf([texts[i]])[0]);
  });

  test.each([
    ['says so of each', () => new TextFailure('m does not take the key')],
    ['says so of itself', () => modelFailure('m does not take the key')],
  ])('has no text left out where it takes none at all, and %s', async (_, failure) => {
    const down = embedderOf(async () => {
      throw failure();
    });
    await expect(down.of(MODEL, states(texts), { ...going, drops: true })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'm does not take the key',
    });
  });
});

describe('a single text that a model fails on for a moment', () => {
  const failingOnce = (failure: () => Error): ItemEmbedder => {
    let calls = 0;
    return embedderOf(async (texts) => {
      calls += 1;
      if (calls === 1) throw failure();
      return vectorsOf(texts);
    });
  };
  const dropping = { ...going, drops: true };

  test('has its vector, where it was of the text', async () => {
    const embedder = failingOnce(() => new TextFailure('m does not take a text'));
    const [{ item }] = await embedder.of(MODEL, states(['text']), dropping);
    expect(item?.vector).toEqual(vectorsOf(['text'])[0]);
  });

  test('is tried again later, where it was of the model', async () => {
    const embedder = failingOnce(() => modelFailure('m does not take the key'));
    await expect(embedder.of(MODEL, states(['text']), dropping)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'm does not take the key',
    });
    expect((await embedder.of(MODEL, states(['text']), dropping))[0].item?.vector).toBeDefined();
  });
});

describe('a model whose queue stays full', () => {
  const full = (): QuiverError => new QuiverError('overloaded', 'm is busy (429); try again later');

  test('is waited for a minute, and then by whoever tries again', async () => {
    let calls = 0;
    const embedder = embedderOf(async () => {
      calls += 1;
      clock.advance(30_000);
      throw full();
    });
    await expect(embedder.of(MODEL, states(['text']), going)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'm is busy (429); try again later',
    });
    await expect(embedder.queries(MODEL, ['text'], going.stop)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(calls).toBe(4);
  });

  test('is not asked any more for a page of which another call has failed', async () => {
    // So long that each is a call of its own.
    const page = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000));
    let waiting = 0;
    let fail = (): void => undefined;
    const failed = new Promise<void>((done) => (fail = done));
    const embedder = embedderOf(async (texts) => {
      if (texts[0].length < 200_000) return vectorsOf(texts);
      if (texts[0].startsWith('a')) {
        await failed;
        throw new QuiverError('unavailable', 'm is away');
      }
      waiting += 1;
      if (waiting === 3) fail();
      throw full();
    });
    await expect(embedder.of(MODEL, states(page), going)).rejects.toMatchObject({ message: 'm is away' });
    // As many as there may be at once: no other one is there.
    const next = states(Array.from({ length: 8 }, (_, i) => `next ${i}`));
    for (const { item } of await embedder.of(MODEL, next, going)) expect(item?.vector).toBeDefined();
    expect(waiting).toBe(3);
  });

  test('is not asked any more once the vectors would come too late', async () => {
    let calls = 0;
    const embedder = embedderOf(async () => {
      calls += 1;
      clock.advance(10_000);
      throw full();
    });
    const untilMs = clock.monotonicMs() + 45_000;
    await expect(embedder.of(MODEL, states(['text']), { ...going, untilMs })).rejects.toMatchObject({
      message: 'texts are embedded too slowly',
    });
    expect(calls).toBe(5);
  });
});

test('what waits for its turn at a model ends when it is to stop', async () => {
  let end = (): void => undefined;
  const busy = new Promise<void>((done) => (end = done));
  const embedder = embedderOf(async (texts) => {
    await busy;
    return vectorsOf(texts);
  });
  const page = states(Array.from({ length: 8 }, (_, i) => `text ${i}`));
  const first = embedder.of(MODEL, page, going);
  const stop = new AbortController();
  const second = embedder.of(MODEL, page, { ...going, stop: stop.signal });
  stop.abort();
  await expect(second).rejects.toThrow(Superseded);
  end();
  expect(await first).toHaveLength(8);
});

test('pages that are under way at once come to their end however slow the model is', async () => {
  // One text after the other, two seconds each; a call is given up a minute after it came.
  let lane = Promise.resolve();
  let givenUp = 0;
  const embedder = embedderOf(async (texts) => {
    const startMs = clock.monotonicMs();
    lane = lane.then(() => clock.advance(texts.length * 2_000));
    await lane;
    if (clock.monotonicMs() - startMs > 60_000) {
      givenUp += 1;
      throw new QuiverError('unavailable', 'Embedding took too long');
    }
    return vectorsOf(texts);
  });
  const page = states(Array.from({ length: 256 }, (_, i) => `text ${i}`));
  const pages = await Promise.all([page, page, page].map((items) => embedder.of(MODEL, items, going)));
  for (const made of pages) expect(made.every(({ item }) => item?.vector !== undefined)).toBe(true);
  expect(givenUp).toBe(0);
  // Little is lost when it has to stop.
  expect(embedder.pageItems(MODEL, 256)).toBeLessThan(32);
});

test('what is to stop ends as one that somebody else goes on with, without another call', async () => {
  const stop = new AbortController();
  let calls = 0;
  const embedder = embedderOf(async (texts) => {
    calls += 1;
    stop.abort();
    return vectorsOf(texts);
  });
  const page = states(Array.from({ length: 64 }, (_, i) => `text ${i}`));
  await expect(embedder.of(MODEL, page, { drops: false, stop: stop.signal })).rejects.toThrow(Superseded);
  expect(calls).toBe(1);
});
