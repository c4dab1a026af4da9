import { chunkText } from '../../../../../coordinator/service/documents/chunk';
import {
  chunkPlaceOf,
  type ChunkPlace,
  CONTEXT_CHARACTERS_MAX,
  contextOf,
  windowsOf,
} from '../../../../../coordinator/service/search/chunk-windows';
import { expectLinear } from '../../../../support/values/linear-cost';

const joined = (...texts: string[]): string =>
  contextOf(texts.map((text, index) => ({ index, externalId: `${index}`, text })))!.text;

describe('the text of a window', () => {
  test.each([
    [['the river floods', 'floods every spring'], 'the river floods every spring'],
    [['of the', 'theory of'], 'of the\ntheory of'],
    [['see the cat', 'top of the hill'], 'see the cat\ntop of the hill'],
    [['yes', 'yes'], 'yes\nyes'],
    [['', 'one', '', 'two'], 'one\ntwo'],
    [['na na na', 'na na batman'], 'na na na batman'],
    [
      ['我喜欢北京大学的图书馆和它的花园的', '北京大学的图书馆和它的花园的天空'],
      '我喜欢北京大学的图书馆和它的花园的\n北京大学的图书馆和它的花园的天空',
    ],
    [
      ['我喜欢北京大学的图书馆和它的花园的池塘的', '北京大学的图书馆和它的花园的池塘的天空'],
      '我喜欢北京大学的图书馆和它的花园的池塘的天空',
    ],
  ])('of %j is %j', (texts, text) => expect(joined(...texts)).toBe(text));

  test('is that of the document which was cut into chunks, but for white space', () => {
    const words = Array.from({ length: 4_000 }, (_, i) => (i % 11 === 0 ? `end${i}.` : `word${i}`)).join(' ');
    const chunks = [...chunkText(words, { size: 500, overlap: 50 })].map(({ text }) => text);
    expect(chunks.length).toBeGreaterThan(60);
    expect(joined(...chunks).replaceAll('\n', ' ')).toBe(words);
  });

  test('says which chunks are there, of which those behind a gap share nothing', () => {
    const context = contextOf([
      { index: 3, externalId: 'x', text: 'a b' },
      { index: 5, externalId: 'y', text: 'b c' },
    ]);
    expect(context).toEqual({
      text: 'a b\nb c',
      fromChunk: 3,
      toChunk: 5,
      chunks: [
        { index: 3, externalId: 'x', at: 0, end: 3 },
        { index: 5, externalId: 'y', at: 4, end: 7 },
      ],
    });
    expect(contextOf([])).toBeNull();
  });

  test('ends where it is long', () => {
    const text = 'x'.repeat(CONTEXT_CHARACTERS_MAX / 2);
    const context = contextOf([0, 1, 2, 3].map((index) => ({ index, externalId: `${index}`, text })))!;
    expect(context).toMatchObject({ fromChunk: 0, toChunk: 2 });
    expect(context.text).toHaveLength(1.5 * CONTEXT_CHARACTERS_MAX - 2 * 64 * 1024);
  });

  test('takes time in proportion to its length, whatever is in it', () => {
    expectLinear('four texts that nearly go on in each other', (units) => {
      const texts = Array.from({ length: 4 }, (_, i) => `${'ab'.repeat(units / 8)}${i}`);
      return () => joined(...texts);
    });
  });
});

test('a chunk has a document_id and a whole chunk_index', () => {
  const placeOf = (metadata: object): ChunkPlace | null => chunkPlaceOf('d-chunk-2', JSON.stringify(metadata));
  expect(placeOf({ document_id: 'd', chunk_index: 2 })).toEqual({ documentId: 'd', index: 2, isNamed: true });
  expect(placeOf({ document_id: 'e', chunk_index: 2 })).toEqual({ documentId: 'e', index: 2, isNamed: false });
  expect(placeOf({ document_id: 4, chunk_index: 0 })).toEqual({ documentId: 4, index: 0, isNamed: false });
  for (const other of [
    {},
    { document_id: 'd' },
    { document_id: ['d'], chunk_index: 2 },
    { document_id: 'd', chunk_index: 2.5 },
  ])
    expect(placeOf(other)).toBeNull();
});

test('windows that touch are one, up to 64 chunks', () => {
  const place = (index: number, documentId = 'd'): ChunkPlace => ({ documentId, index, isNamed: true });
  const windows = windowsOf(
    new Map([
      ['a', place(9)],
      ['b', place(0)],
      ['c', place(3)],
      ['other', place(3, 'e')],
      ['d', place(5)],
    ]),
    { before: 1, after: 1 },
  );
  expect(windows.get('b')).toMatchObject({ from: 0, to: 6 });
  expect(windows.get('c')).toBe(windows.get('b'));
  expect(windows.get('d')).toBe(windows.get('b'));
  expect(windows.get('a')).toMatchObject({ from: 8, to: 10 });
  expect(windows.get('other')).toMatchObject({ documentId: 'e', from: 2, to: 4 });
  const all = windowsOf(new Map(Array.from({ length: 100 }, (_, i) => [`${i}`, place(i)])), { before: 10, after: 10 });
  expect(all.get('0')).toMatchObject({ from: 0, to: 63 });
  expect(all.get('54')).toMatchObject({ from: 44, to: 107 });
});
