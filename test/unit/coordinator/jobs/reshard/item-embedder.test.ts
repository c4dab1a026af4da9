import { ItemEmbedder } from '../../../../../coordinator/jobs/reshard/item-embedder';
import type { ItemState } from '../../../../../coordinator/jobs/reshard/shard-transfers';
import { Superseded } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { EmbeddingModel } from '../../../../../coordinator/models/embedding-provider';
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
      if (texts.includes('bad')) throw new QuiverError('embedding_unavailable', 'm does not take a text');
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

  test('has no text left out where it takes none at all', async () => {
    const down = embedderOf(async () => {
      throw new QuiverError('embedding_unavailable', 'm does not take the key');
    });
    await expect(down.of(MODEL, states(texts), { ...going, drops: true })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'm does not take the key',
    });
  });
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
