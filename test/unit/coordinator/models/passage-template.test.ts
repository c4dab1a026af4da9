import { PassageTemplate } from '../../../../coordinator/models/passage-template';

/** What vectors are made of by a template. */

const made = (template: string, metadata: object, text: string | null = 'a text'): string | null =>
  PassageTemplate.of({ template })!.passageOf({ text, metadata: JSON.stringify(metadata) });

test('fields are texts, numbers and lists of metadata by path, and what is missing is empty', () => {
  const metadata = { title: 'Rivers', author: { name: 'Ann' }, tags: ['a', 'b', null, 7], year: 1990, 'a.b': 'dotted' };
  expect(made('{{title}}\n{{text}}', metadata)).toBe('Rivers\na text');
  expect(made('{{ author.name }}, {{year}}: {{tags}}', metadata)).toBe('Ann, 1990: a, b, 7');
  expect(made('{{a.b}} {{author}} {{none}}|', metadata)).toBe('dotted  |');
  expect(made('{{title}}\n{{text}}', {})).toBe('\na text');
  expect(made('{{author.name}} {{author}} {{a.b}}', { author: { name: 'Ann' }, a: { b: 'inner' } })).toBe('Ann  inner');
  expect(made('{{title}} of {{author.name}}', { title: 'Rivers' }, null)).toBe('Rivers of ');
});

test('an item of which all fields are missing has nothing', () => {
  expect(made('Title: {{title}}', { name: 'x' })).toBeNull();
  expect(made('{{title}}\n{{text}}', { title: ' ' }, null)).toBeNull();
  expect(made('{{title}}\n{{text}}', {}, ' \n')).toBeNull();
});

test('one that is the text alone is none', () => {
  for (const template of ['{{text}}', ' {{ text }} ', undefined])
    expect(PassageTemplate.kept(template)).toBeUndefined();
  for (const template of ['{{title}}', '{{text}} {{text}}', 'a {{text}}'])
    expect(PassageTemplate.kept(template)).toBe(template);
  expect(PassageTemplate.of(undefined)).toBeNull();
  expect(PassageTemplate.of({})).toBeNull();
});

test.each([
  ['{{title}} {{text}}', null],
  ['plain', 'must have a field, as {{text}}'],
  ['{{title}} {{text', 'must have its fields in double braces, as {{text}}'],
  ['title}} {{text}}', 'must have its fields in double braces, as {{text}}'],
  ['{{ }}', 'must not have an empty field'],
  ['{{a}}'.repeat(17), 'must have at most 16 fields'],
  ['{{a}} {{text}} {{ text }}', 'must have each field once, and has {{text}} twice'],
])('what is wrong with %j is %j', (template, fault) => {
  expect(PassageTemplate.faultOf(template)).toBe(fault);
});

test('metadata touch it by the fields that they have', () => {
  const template = PassageTemplate.of({ template: '{{author.name}} {{text}}' })!;
  const touched = (patch: object, replaces = false): boolean =>
    template.isTouchedBy({ json: JSON.stringify(patch), replaces });
  expect(touched({ author: { age: 4 } })).toBe(true);
  expect(touched({ 'author.name': 'x' })).toBe(true);
  expect(touched({ title: 'x', auth: 1 })).toBe(false);
  expect(touched({}, true)).toBe(true);
  expect(PassageTemplate.of({ template: 'q: {{text}}' })!.isTouchedBy({ json: '{}', replaces: true })).toBe(false);
});
