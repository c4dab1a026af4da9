import { createHash } from 'node:crypto';
import type { EmbeddingModel } from '../../../../../coordinator/models/embedding-provider';
import type { Once } from '../../../../../coordinator/service/idempotency/write-dedup';
import type { VectorInput, VectorPatch } from '../../../../../coordinator/service/service';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';
import { ANY_VERSION, NO_VERSION } from '../../../../../shared/contract/shard/shard-client';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import { fetched } from '../../../../support/http/whole-pages';
import { newCollection, PlainEmbedding, plainService } from '../../../../support/shards/plain-service';

/** Writes to a collection whose vectors are made of more than texts. */

const DIM = 8;
const TEMPLATE = '{{title}}\n{{text}}';

function vectorOf(passage: string): Float32Array {
  const digest = createHash('sha256').update(passage).digest();
  return Float32Array.from({ length: DIM }, (_, i) => digest.readInt16LE(2 * i) / 2 ** 15);
}

const MODEL = { name: 'm', dim: DIM };

async function setUp(template = TEMPLATE) {
  let isLost = false;
  const embed: EmbeddingModel['embed'] = async (texts) => {
    if (isLost) throw new QuiverError('embedding_unavailable', 'no model');
    return texts.map(vectorOf);
  };
  const embedding = new PlainEmbedding([{ ...MODEL, embed }]);
  const { service, shards } = await plainService({ embedding });
  const given = { model: 'local:m', template };
  await service.collections.create({ ...newCollection('c', { shards: 2, dim: DIM }), embedding: given });
  const { vectors } = service;
  /** Whether the vector of an item is that of what it is. */
  const expectOf = async (externalId: string, passage: string): Promise<void> => {
    const [{ vector }] = await fetched(vectors.fetch('c', [externalId], { vectors: true }));
    expect([externalId, vector]).toEqual([externalId, vectorOf(passage)]);
  };
  const made = (): string[] => embedding.calls.splice(0).flatMap(({ texts }) => texts);
  /** Without it, nothing is embedded. */
  const loseModel = (): void => {
    isLost = true;
  };
  const findModel = (): void => {
    isLost = false;
  };
  return { vectors, shards, expectOf, made, loseModel, findModel };
}

const textItem = (externalId: string, text: string, metadata?: object): VectorInput => ({
  externalId,
  source: { text },
  metadata: metadata && JSON.stringify(metadata),
  text: undefined,
});

const patchOf = (externalId: string, { text, metadata }: { text?: string; metadata?: object }): VectorPatch => ({
  externalId,
  vector: undefined,
  text,
  metadata: metadata && { json: JSON.stringify(metadata), replaces: false, bytesMax: 1_000, fieldsMax: 10 },
});

test('a text comes with the fields of its metadata, those that are given or those that there are', async () => {
  const { vectors, expectOf, made } = await setUp();
  await vectors.upsert('c', [textItem('a', 'long', { title: 'Rivers', n: 1 }), textItem('b', 'short')]);
  expect(made()).toEqual(['Rivers\nlong', '\nshort']);
  await vectors.upsert('c', [textItem('a', 'longer'), textItem('b', 'x', { title: 'T' }), textItem('b', 'y')]);
  expect(made()).toEqual(['Rivers\nlonger', 'T\nx', 'T\ny']);
  await expectOf('a', 'Rivers\nlonger');
  await expectOf('b', 'T\ny');
});

test('metadata that change between the look and the write are those of the vector', async () => {
  const { vectors, shards, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'one', { title: 'Old' }), textItem('b', 'other', { title: 'Other' })]);
  let changes = 0;
  shards.intercept = async (call) => {
    if (call !== 'write' || changes === 2) return;
    changes += 1;
    // Within the first attempt, and the second.
    const title = `New ${changes}`;
    shards.intercept = undefined;
    await vectors.patch('c', patchOf('a', { metadata: { title } }));
    shards.intercept = intercepted;
  };
  const intercepted = shards.intercept;
  const { statuses } = await vectors.upsert('c', [textItem('a', 'two'), textItem('b', 'others')]);
  expect(changes).toBe(2);
  expect(statuses).toEqual(['updated', 'updated']);
  await expectOf('a', 'New 2\ntwo');
  await expectOf('b', 'Other\nothers');
});

test('a patch of a field makes another vector, and one of others makes none', async () => {
  const { vectors, expectOf, made } = await setUp();
  await vectors.upsert('c', [textItem('a', 'text', { title: 'Old' })]);
  made();
  await vectors.patch('c', patchOf('a', { metadata: { n: 2 } }));
  await vectors.patch('c', patchOf('a', { metadata: { title: 'Old' } }));
  expect(made()).toEqual([]);
  expect(await vectors.patch('c', patchOf('a', { metadata: { title: 'New' } }))).toMatchObject({ kept: null });
  await expectOf('a', 'New\ntext');
  await vectors.patch('c', patchOf('a', { text: 'other' }));
  await expectOf('a', 'New\nother');
  await vectors.patch('c', patchOf('a', { text: 'both', metadata: { title: null } }));
  await expectOf('a', '\nboth');
});

test('a vector that was given stays when a field changes', async () => {
  const { vectors } = await setUp();
  const vector = Float32Array.from({ length: DIM }, (_, i) => i);
  await vectors.upsert('c', [{ externalId: 'a', source: { vector }, metadata: '{"title":"T"}', text: 'text' }]);
  expect(await vectors.patch('c', patchOf('a', { metadata: { title: 'New' } }))).toMatchObject({ kept: null });
  expect(await vectors.patch('c', patchOf('a', { text: 'new' }))).toMatchObject({ kept: 'given' });
  expect((await fetched(vectors.fetch('c', ['a'], { vectors: true })))[0].vector).toEqual(vector);
});

test('an update by a filter that would leave vectors of what is not there any more is refused', async () => {
  const { vectors } = await setUp();
  await vectors.upsert('c', [textItem('a', 'text', { title: 'Old' })]);
  const filter = parseFilter({ title: 'Old' }) as Filter;
  const metadata = (json: string) => ({ metadata: { json, replaces: false, bytesMax: 1_000, fieldsMax: 10 } });
  await expect(vectors.updateByFilter('c', filter, metadata('{"title":"New"}'))).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('are made of "{{title}}\\n{{text}}" (embedding.template)'),
  });
  expect(await vectors.updateByFilter('c', filter, metadata('{"n":1}'))).toEqual({ updatedCount: 1 });
});

test('an item that has nothing of the template is refused, or left out', async () => {
  const { vectors, expectOf } = await setUp('{{title}}');
  const items = [textItem('a', 'text', { title: 'A' }), textItem('b', 'text'), textItem('c', 'text', { title: 'C' })];
  await expect(vectors.upsert('c', items)).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringMatching(/^external_id "b" has no field of "\{\{title\}\}" \(embedding.template\)/),
  });
  const { statuses, errors } = await vectors.upsert('c', items, { skips: true });
  expect(statuses).toEqual(['inserted', 'invalid', 'inserted']);
  expect([...errors.keys()]).toEqual([1]);
  await expectOf('c', 'C');
});

let keys = 0;
const onceOf = (): Once => ({
  token: (++keys).toString(16).padStart(32, '0'),
  digest: 'd'.repeat(32),
  sealingKey: 'e'.repeat(64),
  repeated: () => undefined,
});

/** Runs `meanwhile` between the look at items and the first write that follows. */
function beforeWrite(shards: Awaited<ReturnType<typeof setUp>>['shards'], meanwhile: () => Promise<unknown>): void {
  shards.intercept = async (call) => {
    if (call !== 'write') return;
    shards.intercept = undefined;
    await meanwhile();
  };
}

test.each(['text', 'field'])('two patches under keys at once: the vector is that of both (%s first)', async (first) => {
  const { vectors, shards, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'old', { title: 'Old' })]);
  const patches = [patchOf('a', { text: 'new' }), patchOf('a', { metadata: { title: 'New' } })];
  if (first === 'field') patches.reverse();
  beforeWrite(shards, () => vectors.patch('c', patches[0], { once: onceOf() }));
  await vectors.patch('c', patches[1], { once: onceOf() });
  await expectOf('a', 'New\nnew');
  // Later ones know it for one of the item.
  await vectors.patch('c', patchOf('a', { metadata: { title: 'Newer' } }));
  await expectOf('a', 'Newer\nnew');
});

test('a patch under a key of what a field has already gives the vector of that, too', async () => {
  const { vectors, shards, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'text', { title: 'Old' })]);
  beforeWrite(shards, () => vectors.patch('c', patchOf('a', { metadata: { title: 'New' } })));
  await vectors.patch('c', patchOf('a', { metadata: { title: 'Old' } }), { once: onceOf() });
  await expectOf('a', 'Old\ntext');
});

test.each([
  ['under a key', {}, () => ({ once: onceOf() })],
  ['of items that are there', { expected: ANY_VERSION }, () => ({})],
])('an upsert %s is of the fields that are there when it is stored', async (_, condition, options) => {
  const { vectors, shards, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'one', { title: 'Old' }), textItem('b', 'other', { title: 'Other' })]);
  beforeWrite(shards, () => vectors.patch('c', patchOf('a', { metadata: { title: 'New' } })));
  const items = [textItem('a', 'two'), textItem('b', 'others')].map((item) => ({ ...item, ...condition }));
  expect((await vectors.upsert('c', items, options())).statuses).toEqual(['updated', 'updated']);
  await expectOf('a', 'New\ntwo');
  await expectOf('b', 'Other\nothers');
});

test('an item that is left out leaves its metadata to nobody', async () => {
  const { vectors, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'one', { title: 'Old' })]);
  const items = [{ ...textItem('a', 'two', { title: 'New' }), expected: NO_VERSION }, textItem('a', 'three')];
  const { statuses } = await vectors.upsert('c', items, { skips: true });
  expect(statuses).toEqual(['conflict', 'updated']);
  await expectOf('a', 'Old\nthree');
});

test('a patch after which nothing is left of the template is refused, where the vector is of that', async () => {
  const { vectors, expectOf } = await setUp('{{title}}');
  await vectors.upsert('c', [textItem('a', 'text', { title: 'Old' })]);
  const gone = patchOf('a', { metadata: { title: null } });
  await expect(vectors.patch('c', gone)).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringMatching(/^external_id "a" has no field of "\{\{title\}\}" \(embedding.template\)/),
  });
  await expectOf('a', 'Old');
  const vector = vectorOf('given');
  await vectors.patch('c', { ...gone, vector });
  // One that was given stays, and whoever adds the first field is told.
  expect(await vectors.patch('c', gone)).toMatchObject({ kept: null });
  expect(await vectors.patch('c', patchOf('a', { metadata: { title: 'New' } }))).toMatchObject({ kept: 'given' });
  await expectOf('a', 'given');
  expect(await vectors.patch('c', gone)).toMatchObject({ kept: null });
});

test('an upsert that was done under a key is answered as then, whatever is there now', async () => {
  const { vectors } = await setUp('{{title}}');
  await vectors.upsert('c', [textItem('a', 'one', { title: 'T' })]);
  const once = onceOf();
  const first = await vectors.upsert('c', [textItem('a', 'two')], { once });
  await vectors.delete('c', ['a']);
  const { statuses, versions } = await vectors.upsert('c', [textItem('a', 'two')], { once });
  expect({ statuses, versions }).toEqual({ statuses: first.statuses, versions: first.versions });
});

test('what is left out under a key is left out again', async () => {
  const { vectors } = await setUp('{{title}}');
  const once = onceOf();
  const items = [textItem('a', 'one', { title: 'T' }), textItem('b', 'two')];
  const first = await vectors.upsert('c', items, { once, skips: true });
  expect(first.statuses).toEqual(['inserted', 'invalid']);
  const again = await vectors.upsert('c', items, { once, skips: true });
  expect([again.statuses, again.versions]).toEqual([first.statuses, first.versions]);
});

test('an item whose fields go between the look and the write is left out, or fails what was written in part', async () => {
  const { vectors, shards, expectOf } = await setUp('{{title}}');
  const vector = vectorOf('given');
  const stored = [textItem('a', 'one', { title: 'A' }), textItem('b', 'other', { title: 'B' })];
  const takeAway = () => vectors.patch('c', { ...patchOf('a', { metadata: { title: null } }), vector });
  await vectors.upsert('c', stored);
  beforeWrite(shards, takeAway);
  const { statuses, errors } = await vectors.upsert('c', [textItem('a', 'two'), textItem('b', 'x')], { skips: true });
  expect(statuses).toEqual(['invalid', 'updated']);
  expect(errors.get(0)).toMatchObject({ kind: 'invalid_parameter' });
  await vectors.upsert('c', stored);
  beforeWrite(shards, takeAway);
  await expect(vectors.upsert('c', [textItem('a', 'two'), textItem('b', 'x')])).rejects.toMatchObject({
    kind: 'commit_unknown',
    message: expect.stringContaining('external_id "a" has no field of "{{title}}"'),
  });
  await expectOf('b', 'B');
});

test.each([
  ['an upsert', (item: VectorInput) => item, null],
  ['a patch that embeds', null, { ...patchOf('a', { text: 'two' }), embeds: true }],
])('%s whose process died before it looked again is mended by who repeats it', async (_, itemOf, patch) => {
  const { vectors, shards, expectOf } = await setUp();
  await vectors.upsert('c', [textItem('a', 'one', { title: 'Old' }), textItem('b', 'other', { title: 'Other' })]);
  const once = onceOf();
  const write = async (): Promise<unknown> =>
    patch === null
      ? (await vectors.upsert('c', [textItem('a', 'two')].map(itemOf!), { once })).versions
      : (await vectors.patch('c', patch, { once })).version;
  beforeWrite(shards, async () => {
    await vectors.patch('c', patchOf('a', { metadata: { title: 'New' } }));
    shards.intercept = async (call) => {
      if (call !== 'write') throw new QuiverError('internal', 'the process has died');
    };
  });
  await expect(write()).rejects.toMatchObject({ kind: 'commit_unknown' });
  shards.intercept = undefined;
  await expectOf('a', 'Old\ntwo');
  await write();
  await expectOf('a', 'New\ntwo');
  // What somebody gave it since stays.
  await vectors.patch('c', { ...patchOf('a', {}), vector: vectorOf('given') });
  await write();
  await expectOf('a', 'given');
});

test('whether what was done under a key has its vector is not known without the model', async () => {
  const { vectors, loseModel, findModel } = await setUp();
  await vectors.upsert('c', [textItem('a', 'one', { title: 'T' })]);
  const once = onceOf();
  const { versions } = await vectors.upsert('c', [textItem('a', 'two')], { once });
  loseModel();
  await expect(vectors.upsert('c', [textItem('a', 'three')], { once: onceOf() })).rejects.toMatchObject({
    kind: 'embedding_unavailable',
  });
  const repeat = () => vectors.upsert('c', [textItem('a', 'two')], { once });
  await expect(repeat()).rejects.toMatchObject({ kind: 'commit_unknown' });
  findModel();
  expect((await repeat()).versions).toEqual(versions);
});

test('passages of many items with long metadata leave others their turns', async () => {
  const { vectors, shards } = await setUp();
  const long = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`key ${i}`, 'x'.repeat(50)]));
  const items = Array.from({ length: 1_000 }, (_, i) => textItem(`i${i}`, 'text', { ...long, title: `T${i}` }));
  let turns = 0;
  let isWriting = false;
  shards.intercept = async (call) => {
    if (call === 'write') isWriting = true;
  };
  const count = (): void => {
    turns += 1;
    if (!isWriting) setImmediate(count);
  };
  setImmediate(count);
  await vectors.upsert('c', items);
  expect(turns).toBeGreaterThan(0);
});
