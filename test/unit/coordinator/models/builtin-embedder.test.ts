import { createHash } from 'node:crypto';
import { BuiltinModel, EMBEDDED_CHARACTERS_MAX } from '../../../../coordinator/models/builtin-model';
import { hashText } from '../../../../coordinator/models/feature-hash';
import { repetitionWeight } from '../../../../coordinator/models/lexical-features';
import { scoreOf } from '../../../../shared/contract/vector/metric';
import { LoopWatch } from '../../../support/threads/loop-watch';
import { sliceAfter } from '../../../support/values/stepping-clock';

const model = new BuiltinModel();
const embed = async (text: string, dim = 384): Promise<Float32Array> =>
  (await model.embed([text], { dim, kind: 'passage' }))[0];
const similarity = async (a: string, b: string, dim = 384): Promise<number> =>
  scoreOf('cosine', await embed(a, dim), await embed(b, dim));
const lengthOf = (vector: Float32Array): number => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));

const ODD_TEXTS = [
  '',
  ' \n\t',
  '?!',
  '🎉',
  '\ud800',
  '\u0301\u0316',
  '\u0000',
  'a',
  'the',
  'x'.repeat(1_000_000),
  'שלום',
  '東京都',
  'a b '.repeat(50_000),
];

describe('the builtin embedder', () => {
  test('vectors never change: those of stored collections must stay comparable', async () => {
    const texts = [
      'The quick brown fox jumps over the lazy dog.',
      "Straße, café & l'été — 42 naïve O'Briens",
      '東京都は日本の首都です。',
      '?!',
      'aa aa aa bb',
    ];
    const digests = [];
    for (const dim of [1, 3, 384, 1536]) {
      const hash = createHash('sha256');
      for (const vector of await model.embed(texts, { dim, kind: 'passage' })) {
        const bytes = Buffer.alloc(4 * dim);
        vector.forEach((x, i) => bytes.writeFloatLE(x, 4 * i));
        hash.update(bytes);
      }
      digests.push(hash.digest('hex').slice(0, 16));
    }
    expect(digests).toEqual(['759aa9b3b6ce3b4d', '193187cd4f403d34', 'b584eec644a3b6cb', 'b8ccff25aabc421f']);
    expect([...(await embed(texts[0], 8))]).toEqual([
      0.3227260112762451, -0.16409797966480255, 0.014586486853659153, -0.392923504114151, -0.36101555824279785,
      -0.5579331517219543, -0.15498141944408417, 0.49867552518844604,
    ]);
  });

  test('the hash is MurmurHash3: units of 16 bits as blocks of 32', () => {
    // "ab" as two blocks 0x61 and 0x62 is eight bytes; length is counted in units here, so only the empty text is
    // standard.
    expect(hashText('', 0, 0, 0)).toBe(0);
    expect(hashText('', 0, 0, 1)).toBe(0x514e28b7);
    expect(hashText('', 0, 0, 0xffffffff)).toBe(0x81f16f39);
    expect(hashText('xaby', 1, 3, 7)).toBe(hashText('ab', 0, 2, 7));
  });

  test('repetition counts ever less', () => {
    expect([1, 2, 3, 4, 8].map(repetitionWeight)).toEqual([256, 433, 522, 611, 788]);
    for (let count = 1; count < 1000; count++) {
      expect(Math.abs(repetitionWeight(count) / 256 - (1 + Math.log(count)))).toBeLessThan(0.07);
      expect(repetitionWeight(count + 1)).toBeGreaterThanOrEqual(repetitionWeight(count));
    }
  });

  test.each([1, 2, 3, 7, 64, 384, 16_384])(
    'any text has a finite vector of length 1 in %i dimensions, a blank one a zero vector',
    async (dim) => {
      for (const text of ODD_TEXTS) {
        const vector = await embed(text, dim);
        expect(vector.length).toBe(dim);
        expect(vector.every(Number.isFinite)).toBe(true);
        const isBlank = /^[\s\u0000]*$/.test(text);
        expect(Math.abs(lengthOf(vector) - (isBlank ? 0 : 1))).toBeLessThan(1e-5);
      }
    },
  );

  test('a vector depends neither on its neighbours in a batch nor on the kind', async () => {
    const texts = ['one text', 'another text', 'one text', ...ODD_TEXTS];
    const together = await model.embed(texts, { dim: 64, kind: 'query' });
    for (let i = 0; i < texts.length; i++) expect(together[i]).toEqual(await embed(texts[i], 64));
  });

  test.each([
    [
      'How do I reset my account password?',
      'Steps for resetting the password of an account',
      'What is the weather going to be in Paris?',
    ],
    [
      'Weather forecast for Paris',
      'What is the weather going to be in Paris tomorrow?',
      'What is the price going to be in dollars tomorrow?',
    ],
    [
      'Plants use photosynthesis to make energy from light',
      'Photosynthesis turns light into chemical energy',
      'Buses from the station turn into the high street',
    ],
    ['recieve the packege', 'receive the package', 'open the window'],
    ['Café Zürich', 'cafe zurich', 'Musée Genève'],
    ['猫が好きです', '私は猫が大好き', '株式市場は下落した'],
    ['собака бежит по улице', 'собаки бегут по улицам', 'курс рубля снова вырос'],
  ])('%s is nearer to %s than to %s', async (text, near, far) => {
    for (const dim of [384, 1024]) {
      expect(await similarity(text, near, dim)).toBeGreaterThan((await similarity(text, far, dim)) + 0.1);
    }
  });

  test('texts that share only grammar are far apart', async () => {
    expect(
      await similarity('This is what they have been to us all', 'They should have been what this is about'),
    ).toBeGreaterThan(0);
    expect(await similarity('The cat that was on the mat', 'The bill that was in the house')).toBeLessThan(0.25);
  });

  test('only the beginning of a very long text counts', async () => {
    const start = 'many words '.repeat(EMBEDDED_CHARACTERS_MAX / 11 + 1);
    expect(await embed(start)).toEqual(await embed(`${start} and more`));
  });

  test('a large batch lets other work run', async () => {
    const stopSlicing = sliceAfter(100);
    const watch = new LoopWatch();
    await model.embed(
      Array.from({ length: 3000 }, (_, i) => `text number ${i} ${'and more words '.repeat(30)}`),
      { dim: 384, kind: 'passage' },
    );
    watch.stop();
    stopSlicing();
    expect(watch.rounds).toBeGreaterThan(5);
  });
});
