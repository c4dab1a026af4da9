import { measuredBeside } from '../../../../../coordinator/service/documents/measured-passages';
import { newCollection, PlainEmbedding, plainService } from '../../../../support/shards/plain-service';

/** What a model that reads ten words has left for texts beside the fields of a template. */

const words = async (texts: string[]) => ({ lengths: texts.map((text) => text.trim().split(/\s+/).length), most: 10 });
const metadata = JSON.stringify({ title: 'A Long Title' });
const beside = (template?: string, given = metadata) =>
  measuredBeside(template === undefined ? undefined : { model: 'local:m', template }, given, words)(['one two']);

test.each([
  ['{{title}}\n{{text}}', 7],
  ['Of {{title}} : {{text}}', 5],
  ['{{none}} {{text}}', 10],
  // Its vectors do not depend on how long texts are.
  ['{{title}}', 10],
  [undefined, 10],
])('beside the fields of %j it reads %i', async (template, most) => {
  expect(await beside(template)).toEqual({ lengths: [2], most });
});

test('fields that take more than half are refused', async () => {
  await expect(beside('{{title}} {{text}}', JSON.stringify({ title: 'a b c d e f' }))).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringMatching(
      /^the fields of "\{\{title\}\} \{\{text\}\}" .* take 6 of the 10 tokens .* shorter metadata$/,
    ),
  });
});

test('where nothing is known, nothing is told', async () => {
  expect(await measuredBeside({ model: 'm', template: '{{a}} {{text}}' }, '{}', async () => null)(['x'])).toBeNull();
});

const lengthOf = (text: string): number => text.trim().split(/\s+/).length;

test('chunks of an upload leave room for the fields that their vectors are made of as well', async () => {
  const READ = 20;
  const embedding = new PlainEmbedding([
    {
      name: 'm',
      dim: 2,
      embed: async (texts) => texts.map(() => Float32Array.of(1, 0)),
      measure: async (texts) => ({ lengths: texts.map(lengthOf), most: READ }),
    },
  ]);
  const { service } = await plainService({ embedding });
  const given = { model: 'local:m', template: 'From {{source}} : {{text}}' };
  await service.collections.create({ ...newCollection('c', { dim: 2 }), embedding: given });
  async function* content(): AsyncGenerator<Buffer> {
    yield Buffer.from(Array.from({ length: 200 }, (_, i) => `word${i}`).join(' '));
  }
  try {
    await service.documents.upload('c', { name: 'a.txt', content: content() });
    const passages = embedding.calls.flatMap(({ texts }) => texts);
    expect(passages.length).toBeGreaterThan(10);
    for (const passage of passages) {
      expect(passage).toMatch(/^From a\.txt : /);
      expect(lengthOf(passage)).toBeLessThanOrEqual(READ);
    }
  } finally {
    service.close();
  }
});
