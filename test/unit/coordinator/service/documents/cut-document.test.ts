import fc from 'fast-check';
import { cutDocument } from '../../../../../coordinator/service/documents/cut-document';
import { chunkText } from '../../../../../coordinator/service/documents/chunk';
import type { MeasureTexts } from '../../../../../coordinator/service/documents/fitted-chunks';
import type {
  Chunking,
  DocumentChunk,
  ParsedDocument,
} from '../../../../../coordinator/service/documents/formats/parsed-document';
import { readMarkdown } from '../../../../../coordinator/service/documents/formats/readers/read-markdown';

const SENTENCES: Chunking = { strategy: 'sentences', size: 500, overlap: 50, unit: 'characters' };

async function cut(
  document: Partial<ParsedDocument> & { text: string },
  chunking: Partial<Chunking> = {},
  measure?: MeasureTexts,
): Promise<DocumentChunk[]> {
  const whole: ParsedDocument = { type: 'txt', pages: [], headings: [], ...document };
  const chunks: DocumentChunk[] = [];
  for await (const chunk of cutDocument(whole, { ...SENTENCES, ...chunking }, measure)) chunks.push(chunk);
  return chunks;
}

const GUIDE = readMarkdown(
  Buffer.from(
    '# 2 Install\n\n## 2.1 Linux\n\nUse apt. It is there.\n\n' +
      '## 2.2 Mac\n\nUse brew. It is there, too.\n\n# 3 Run\n\nStart it.\n',
  ),
  { charactersMax: 10_000 },
);

test('sections are cut by themselves, and a heading alone goes with the next one', async () => {
  const chunks = await cut(GUIDE, { strategy: 'headings' });
  expect(chunks.map(({ text, headings }) => [text, headings])).toEqual([
    ['# 2 Install\n\n## 2.1 Linux\n\nUse apt. It is there.', ['2 Install', '2.1 Linux']],
    ['## 2.2 Mac\n\nUse brew. It is there, too.', ['2 Install', '2.2 Mac']],
    ['# 3 Run\n\nStart it.', ['3 Run']],
  ]);
});

test('a chunk stands under the headings at its begin', async () => {
  const chunks = await cut(GUIDE, { size: 40, overlap: 0 });
  expect(chunks.map(({ headings }) => headings.join(' > '))).toEqual([
    '2 Install > 2.1 Linux',
    '2 Install > 2.1 Linux',
    '2 Install > 2.2 Mac',
    '3 Run',
  ]);
});

test('chunks know their page, and one without text before it', async () => {
  const text = `${'One. '.repeat(20)}\n\n${'Two. '.repeat(20)}`;
  const second = text.indexOf('Two.');
  const chunks = await cut({ type: 'pdf', text, pages: [0, second, second] }, { size: 60, overlap: 0 });
  expect(chunks.map(({ page }) => page)).toEqual(chunks.map(({ start }) => (start < second ? 1 : 3)));
});

test('rows are cut by themselves, and their chunks say which it is', async () => {
  const rows = ['short', 'word '.repeat(30).trim(), 'last'];
  const text = rows.join('\n\n');
  const places = rows.map((row) => ({ start: text.indexOf(row), end: text.indexOf(row) + row.length, fields: {} }));
  const chunks = await cut({ type: 'csv', text, rows: places }, { size: 100 });
  expect(chunks.map(({ row }) => row)).toEqual([0, 1, 1, 2]);
  expect(chunks.every(({ text: own, start, end }) => own === text.slice(start, end))).toBe(true);
});

test('the same sentences as an upload of the text has, whatever it is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^(?:[A-Za-zé]{1,9}[.!?]?[ \n]{1,2}){0,60}$/),
      fc.integer({ min: 16, max: 90 }),
      fc.nat(40),
      async (text, size, overlap) => {
        const chunks = (await cut({ text }, { size, overlap })).map(({ text: own, start, end }) => ({
          start,
          end,
          text: own,
        }));
        expect(chunks).toEqual([...chunkText(text, { size, overlap })]);
      },
    ),
  );
});

describe('by tokens', () => {
  /** Words of a text, and two more. */
  const words: MeasureTexts = async (texts) => ({
    lengths: texts.map((text) => text.split(/\s+/).filter((word) => word !== '').length + 2),
    most: 50,
  });
  const text = Array.from({ length: 300 }, (_, i) => `${'x'.repeat(1 + ((i * 7) % 12))}${i % 9 === 8 ? '.' : ''}`).join(
    ' ',
  );

  test('no chunk has more tokens than asked for, and most have at least half', async () => {
    for (const strategy of ['sentences', 'headings', 'fixed'] as const) {
      const chunks = await cut({ text }, { strategy, size: 20, overlap: 4, unit: 'tokens' }, words);
      const { lengths } = (await words(chunks.map(({ text: own }) => own)))!;
      expect(Math.max(...lengths)).toBeLessThanOrEqual(20);
      expect(lengths.filter((length) => length >= 10).length).toBeGreaterThan(0.7 * lengths.length);
    }
  });

  test('the model reads every chunk whole, also where more is asked for', async () => {
    const chunks = await cut({ text }, { size: 400, unit: 'tokens' }, words);
    const { lengths } = (await words(chunks.map(({ text: own }) => own)))!;
    expect(Math.max(...lengths)).toBeLessThanOrEqual(50);
  });

  test('a collection whose model counts none refuses it', async () => {
    await expect(cut({ text }, { unit: 'tokens' })).rejects.toThrow('no model that counts tokens');
  });
});
