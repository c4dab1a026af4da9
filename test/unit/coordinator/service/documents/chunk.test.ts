import { chunkText, TextChunker } from '../../../../../coordinator/service/documents/chunk';
import { expectLinear } from '../../../../support/values/linear-cost';

const texts = (text: string, size: number, overlap = 0): string[] =>
  [...chunkText(text, { size, overlap })].map((chunk) => chunk.text);

describe('chunkText', () => {
  test('cuts at the end of a paragraph before anything else', () => {
    expect(texts('One two. Three four.\n\nFive. Six seven eight.', 32)).toEqual([
      'One two. Three four.',
      'Five. Six seven eight.',
    ]);
    expect(texts('One two. Three four.\r\n \t\r\nFive. Six seven eight.', 32)[0]).toBe('One two. Three four.');
  });

  test('cuts at the end of a sentence before that of a line or word', () => {
    expect(texts('The first sentence. The second\none is longer than that.', 34)[0]).toBe('The first sentence.');
    expect(texts('He said "The first sentence." And then he went on', 40)[0]).toBe('He said "The first sentence."');
    expect(texts('これは最初の文です。これは次の文です。', 12)[0]).toBe('これは最初の文です。');
  });

  test.each([
    ['Devanagari', 'यह पहला वाक्य है। यह दूसरा वाक्य है', 22, 'यह पहला वाक्य है।'],
    ['Arabic', 'هل هذا سؤال؟ نعم هذا جواب طويل', 20, 'هل هذا سؤال؟'],
    ['Ethiopic', 'ሰላም ለዓለም። ሁለተኛ ዓረፍተ ነገር ነው', 14, 'ሰላም ለዓለም።'],
    ['Chinese', '天气很好吗？我们去公园散步，然后回家。', 9, '天气很好吗？'],
  ])('knows where a sentence ends in %s', (_script, text, size, first) => {
    expect(texts(text, size)[0]).toBe(first);
  });

  test('a full stop within a sentence does not end it', () => {
    expect(texts('Look at it, e.g. the one that lies over there', 22)[0]).toBe('Look at it, e.g. the');
    expect(texts('It costs 3.50 in all. 2.5 of it are tax', 24)[0]).toBe('It costs 3.50 in all.');
  });

  test('scripts without spaces are cut between words', () => {
    expect(texts('我们今天下午去公园散步然后回家吃饭', 10)[0]).toBe('我们今天下午去公园');
    expect(texts('ประเทศไทยมีอากาศร้อนชื้นตลอดทั้งปี', 14)[0]).toBe('ประเทศไทยมี');
    expect(texts('我们今天下午去公园散步然后回家吃饭', 10, 4)[1]).toMatch(/^去公园散步/);
  });

  test('characters of several code points stay whole', () => {
    expect(texts('🇫🇷🇩🇪🇮🇹', 7)).toEqual(['🇫🇷', '🇩🇪', '🇮🇹']);
    expect(texts('\u1112\u1161\u11ab'.repeat(3), 5)[0]).toBe('\u1112\u1161\u11ab');
  });

  test('a text is held no longer than its chunks need', () => {
    const chunker = new TextChunker({ size: 50, overlap: 10 });
    const held = (): number => (chunker as unknown as { text: string }).text.length;
    for (let i = 0; i < 1000; i++) {
      for (const part of ['some words. '.repeat(20), ' '.repeat(500), 'x'.repeat(300)]) {
        expect([...chunker.push(part)].length).toBeLessThanOrEqual(20);
        expect(held()).toBeLessThanOrEqual(500 + 2 * 50 + 64);
      }
    }
  });

  test('cuts at the end of a line before that of a word', () => {
    expect(texts('a heading of it\nand words below it', 24)[0]).toBe('a heading of it');
  });

  test('cuts at the end of a word where there is nothing better', () => {
    expect(texts('alpha beta gamma delta epsilon', 20)).toEqual(['alpha beta gamma', 'delta epsilon']);
  });

  test('a decimal point ends no sentence', () => {
    expect(texts('pi is 3.1415926535 and more', 20)[0]).toBe('pi is 3.1415926535');
  });

  test('what has no end near is cut where the chunk is full', () => {
    expect(texts('x'.repeat(25), 10)).toEqual(['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)]);
    expect(texts('😀'.repeat(6), 5)).toEqual(['😀😀', '😀😀', '😀😀']);
    expect(texts(`abcde${'e\u0301'.repeat(4)}`, 8)[0]).toBe('abcdee\u0301');
    expect(texts('ab👩‍🚀cd', 6)[0]).toBe('ab');
  });

  test('neighbours share about the overlap, from the start of a word', () => {
    const chunks = texts('alpha beta gamma delta epsilon zeta eta theta', 24, 10);
    expect(chunks).toEqual(['alpha beta gamma delta', 'delta epsilon zeta eta', 'zeta eta theta']);
    expect(texts('0123456789'.repeat(3), 12, 4)[1].startsWith('8901')).toBe(true);
  });

  test('what is shared begins at a sentence where one begins near, else at a word', () => {
    const license =
      'No obligations are imposed on any author as a result of your choosing to follow a\nlater version.\n\n  15. Disclaimer of Warranty.\n\n  THERE IS NO WARRANTY FOR THE PROGRAM';
    expect(texts(license, 130, 50)[1]).toMatch(/^15\. Disclaimer/);
    expect(texts('One is here. Two follows it now. Three is the last one of all.', 44, 10)[1]).toMatch(/^Two follows/);
    expect(texts('She said so. これは最初の文です。これは次の文です。ここで終わり。', 32, 6)[1]).toMatch(
      /^これは次の文です。/,
    );
    expect(texts('A heading of it\n\nwith a paragraph\n\nand another that is long enough', 44, 22)[1]).toMatch(
      /^with a paragraph/,
    );
    expect(texts('a sentence without any end that goes on and on for ever and a day', 40, 12)[1]).toMatch(
      /^that goes on/,
    );
  });

  test('a blank text has no chunks', () => {
    expect(texts(' \n\t\u3000\u0000\ufeff', 10)).toEqual([]);
    expect(texts('', 10)).toEqual([]);
  });

  test('a long gap is no chunk and repeats none', () => {
    expect(texts(`start${' '.repeat(5000)}end`, 10, 5)).toEqual(['start', 'end']);
  });

  test.each([
    ['no space at all', 'x'],
    ['nothing but spaces between few words', `word${' '.repeat(100_000)}`],
    ['words', 'some words of text '],
    ['line ends', 'a\n'],
    ['marks without a base', '\u0301'],
    ['astral letters', '𝒳'],
  ])('takes megabytes of %s in linear time', (_title, unit) => {
    let count = 0;
    const prepare = (units: number) => {
      const text = unit.repeat(Math.floor(units / unit.length));
      return (): void => {
        for (const chunk of chunkText(text, { size: 500, overlap: 50 })) count += chunk.text.length > 0 ? 1 : 0;
      };
    };
    expectLinear(unit.slice(0, 10), prepare, [39_062, 312_500, 2_500_000]);
    expect(count).toBeGreaterThan(0);
  });
});
