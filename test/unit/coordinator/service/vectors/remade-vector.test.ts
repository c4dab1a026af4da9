import type { VectorPatch } from '../../../../../coordinator/service/service';
import {
  item,
  markingModel,
  newCollection,
  PlainEmbedding,
  plainService,
  textItem,
} from '../../../../support/shards/plain-service';
import { fetched } from '../../../../support/http/whole-pages';

/**
 * coordinator/service/vectors/remade-vector.ts: what becomes of a vector when a patch changes the text that it was made
 * of.
 */

const lengthModel = (name: string) => ({
  ...markingModel(name, null, 0),
  embed: async (texts: string[], { dim }: { dim: number }) =>
    texts.map((text) => new Float32Array(dim).fill(1).with(0, text.length)),
});

async function setUp({ shards = 3, model = lengthModel('lengths') } = {}) {
  const parts = await plainService({ embedding: new PlainEmbedding([model]) });
  await parts.service.collections.create(newCollection('c', { shards, dim: 2 }));
  const { vectors } = parts.service;
  const stored = async (id: string) => {
    const [{ vector, text, version }] = await fetched(vectors.fetch('c', [id], { vectors: true }));
    return { vector: [...vector!], text, version };
  };
  const patch = (given: Partial<VectorPatch>) =>
    vectors.patch('c', { externalId: 'a', vector: undefined, text: undefined, metadata: undefined, ...given });
  return { ...parts, vectors, stored, patch };
}

test('a vector that was made of the former text is made anew of the new one', async () => {
  const { vectors, stored, patch, embedding } = await setUp();
  await vectors.upsert('c', [textItem('a', 'four')]);
  expect(await patch({ text: 'eleven char' })).toMatchObject({ kept: null });
  expect(await stored('a')).toMatchObject({ vector: [11, 1], text: 'eleven char' });
  expect(await patch({ text: 'eleven char' })).toMatchObject({ kept: null });
  expect((await stored('a')).vector).toEqual([11, 1]);
  // A change of something else costs nothing.
  const calls = embedding.calls.length;
  await patch({ metadata: { json: '{"n":1}', replaces: false, bytesMax: 100, fieldsMax: 10 } });
  expect(embedding.calls.length).toBe(calls);
});

test('a vector that was given stays, and so does one where that is asked for or nothing can be made; the answer says why', async () => {
  const { vectors, stored, patch } = await setUp();
  await vectors.upsert('c', [textItem('other', 'four')]);
  await vectors.upsert('c', [item('a', [-9, 3], { text: 'four' })]);
  expect(await patch({ text: 'eleven char' })).toMatchObject({ kept: 'given' });
  expect(await stored('a')).toMatchObject({ vector: [-9, 3], text: 'eleven char' });
  await vectors.upsert('c', [item('b', [7, 7])]);
  expect(await patch({ externalId: 'b', text: 'a first text' })).toMatchObject({ kept: 'given' });
  expect((await stored('b')).vector).toEqual([7, 7]);
  expect(await patch({ externalId: 'other', text: 'eleven char', embeds: false })).toMatchObject({ kept: 'asked' });
  expect(await stored('other')).toMatchObject({ vector: [4, 1], text: 'eleven char' });
  expect(await patch({ text: 'eleven char', embeds: true })).toMatchObject({ kept: null });
  expect((await stored('a')).vector).toEqual([11, 1]);
  expect(await patch({ text: ' ' })).toMatchObject({ kept: 'blank' });
  expect(await stored('a')).toMatchObject({ vector: [11, 1], text: ' ' });
});

test('a vector in the same patch wins; a collection that made no vector of a text embeds nothing', async () => {
  const { vectors, stored, patch, embedding } = await setUp();
  await vectors.upsert('c', [item('a', [1, 0], { text: 'four' })]);
  expect(await patch({ text: 'eleven char' })).toMatchObject({ kept: null });
  expect(await patch({ text: 'eleven char', embeds: false })).toMatchObject({ kept: null });
  expect([await stored('a'), embedding.calls]).toMatchObject([{ vector: [1, 0], text: 'eleven char' }, []]);
  await vectors.upsert('c', [textItem('a', 'four')]);
  const calls = embedding.calls.length;
  expect(await patch({ text: 'another', vector: Float32Array.of(5, 6) })).toMatchObject({ kept: null });
  expect([await stored('a'), embedding.calls.length]).toMatchObject([{ vector: [5, 6], text: 'another' }, calls]);
});

test('one that is not there, or not of the version, is refused as ever', async () => {
  const { vectors, stored, patch } = await setUp();
  const { versions } = await vectors.upsert('c', [textItem('a', 'four')]);
  await expect(patch({ externalId: 'nobody', text: 'text' })).rejects.toMatchObject({ kind: 'not_found' });
  await expect(patch({ text: 'text', expected: versions[0]! + 1 })).rejects.toMatchObject({ kind: 'conflict' });
  expect(await stored('a')).toMatchObject({ vector: [4, 1], text: 'four', version: versions[0] });
  expect((await patch({ text: 'eleven char', expected: versions[0]! })).version).toBeGreaterThan(versions[0]!);
  expect((await stored('a')).vector).toEqual([11, 1]);
});

test('an item that somebody else writes meanwhile is looked at again', async () => {
  const model = lengthModel('lengths');
  let meanwhile: (() => Promise<unknown>) | null = null;
  const { vectors, stored, patch } = await setUp({
    model: {
      ...model,
      embed: async (texts, options) => {
        const now = meanwhile;
        meanwhile = null;
        await now?.();
        return model.embed(texts, options);
      },
    },
  });
  await vectors.upsert('c', [textItem('a', 'four')]);
  // Its vector is not one of a text any more when the patch arrives.
  meanwhile = () => vectors.upsert('c', [item('a', [-9, 3])]);
  expect(await patch({ text: 'eleven char' })).toMatchObject({ kept: 'given' });
  expect(await stored('a')).toMatchObject({ vector: [-9, 3], text: 'eleven char' });
  await vectors.upsert('c', [textItem('a', 'four')]);
  meanwhile = () => vectors.delete('c', ['a']);
  await expect(patch({ text: 'eleven char' })).rejects.toMatchObject({ kind: 'not_found' });
});

test('one that is done once embeds and answers once', async () => {
  const { vectors, embedding, stored } = await setUp();
  await vectors.upsert('c', [textItem('a', 'four')]);
  const once = { token: '1'.repeat(32), digest: 'd'.repeat(32), sealingKey: 'e'.repeat(64), repeated: () => undefined };
  const patch = { externalId: 'a', vector: undefined, text: 'eleven char', metadata: undefined };
  const { version } = await vectors.patch('c', patch, { once });
  const calls = embedding.calls.length;
  expect(await vectors.patch('c', patch, { once })).toEqual({ version, kept: null });
  expect([embedding.calls.length, (await stored('a')).vector]).toEqual([calls, [11, 1]]);
});
