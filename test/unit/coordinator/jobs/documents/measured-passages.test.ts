import { measuredBeside } from '../../../../../coordinator/jobs/documents/measured-passages';

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
