import { fittedChunks } from '../../../../../coordinator/service/documents/fitted-chunks';

/**
 * As models of MiniLM's kind count: a token for each character of Chinese and each mark, and one for each word of
 * letters.
 */
const tokensOf = (text: string): number => 2 + (text.match(/[a-z]+|[^a-z\s]/gi) ?? []).length;
const MOST = 40;
const OPTIONS = { size: 100, overlap: 10 };

interface Measuring {
  calls: string[][];
  measure: (texts: string[]) => Promise<{ lengths: number[]; most: number }>;
}

function measuring(): Measuring {
  const calls: string[][] = [];
  return {
    calls,
    measure: async (texts) => {
      calls.push(texts);
      return { lengths: texts.map(tokensOf), most: MOST };
    },
  };
}

async function* inParts(text: string, length: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
}

async function chunksOf(text: string, length: number, { measure }: Measuring = measuring()) {
  const chunks = [];
  for await (const chunk of fittedChunks(inParts(text, length), OPTIONS, measure)) chunks.push(chunk);
  return chunks;
}

const CHINESE = '我们今天下午去公园散步，然后回家吃饭。天气很好，阳光明媚。他喜欢北京大学的图书馆，因为那里很安静。';
const ENGLISH = 'The river floods in spring. Nobody lives on its banks, since the water takes what stands there. ';
const TEXTS = {
  chinese: CHINESE.repeat(20),
  english: ENGLISH.repeat(20),
  mixed: `${ENGLISH.repeat(3)}${CHINESE.repeat(4)}`.repeat(5),
  marks: '.,;!'.repeat(200),
  letters: 'x'.repeat(500),
};

test.each(Object.entries(TEXTS))(
  'no chunk of %s is longer than the model reads, nothing of the text is left out, and none is inside another',
  async (_name, text) => {
    const chunks = await chunksOf(text, 64);
    let covered = 0;
    let last = { start: -1, end: 0 };
    for (const chunk of chunks) {
      expect(tokensOf(chunk.text)).toBeLessThanOrEqual(MOST);
      expect(chunk.text.length).toBeLessThanOrEqual(OPTIONS.size);
      expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
      expect(text.slice(covered, chunk.start).trim()).toBe('');
      expect(chunk.start > last.start && chunk.end > last.end).toBe(true);
      covered = Math.max(covered, chunk.end);
      last = chunk;
    }
    expect(text.slice(covered).trim()).toBe('');
  },
);

test.each(Object.entries(TEXTS))('where the parts of %s begin changes nothing', async (_name, text) => {
  const whole = await chunksOf(text, text.length);
  for (const length of [1, 7, 150, 333]) expect(await chunksOf(text, length)).toEqual(whole);
});

test('chunks that fit are as long as ever, and are measured together', async () => {
  const plain = [];
  for await (const chunk of fittedChunks(inParts(TEXTS.english, 4000), OPTIONS, async () => null)) plain.push(chunk);
  const measured = measuring();
  expect(await chunksOf(TEXTS.english, 4000, measured)).toEqual(plain);
  expect(measured.calls.length).toBeLessThan(8);
  expect(measured.calls.flat()).toEqual(plain.map(({ text }) => text));
});

test('a chunk that has to be shorter ends at a sentence all the same', async () => {
  for (const { text } of (await chunksOf(CHINESE.repeat(3), 1000)).slice(0, 3)) expect(text).toMatch(/[。，]$/);
});

test('what measuring fails with ends the chunks', async () => {
  const failing = { calls: [], measure: () => Promise.reject(new Error('no model')) };
  await expect(chunksOf(CHINESE, 10, failing)).rejects.toThrow('no model');
});
