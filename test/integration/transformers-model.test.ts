import { existsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuiltinModel } from '../../coordinator/models/builtin-model';
import type { EmbeddingModel } from '../../coordinator/models/embedding-provider';
import { EmbeddingRegistry } from '../../coordinator/models/embedding-registry';
import { systemClock } from '../../shared/base/time/clock';
import { silentLogger } from '../../shared/base/logs/logger';
import { TINY_SHAPE, type TinyModelOptions, writeTinyModel } from '../support/onnx/tiny-model';
import { cosine, TransformersModels } from '../support/shards/transformers-models';

const TEXTS = [
  'the cat',
  'a red stone on the slow river',
  'Rain, wind and snow: 12 dogs!',
  'x',
  '',
  'sea road '.repeat(60),
  '\ud800 \u0000 שלום 水',
  'the cat',
];
/**
 * Of 'the cat' and 'a red stone on the slow river' by the tiny model of seed 1, from the library's own
 * feature-extraction pipeline.
 */
const GOLDEN = {
  model: [
    [-0.09933, 0.32835, -0.29956, 0.26605, 0.1071, 0.15425],
    [-0.19936, 0.27684, -0.16695, 0.43131, -0.04677, 0.27589],
  ],
  model_quantized: [
    [-0.09896, 0.33512, -0.2989, 0.26654, 0.10359, 0.14602],
    [-0.19929, 0.27914, -0.16819, 0.43094, -0.04582, 0.2721],
  ],
} as const;

async function embedAll(
  model: EmbeddingModel,
  texts: string[],
  kind: 'query' | 'passage' = 'passage',
): Promise<Float32Array[]> {
  return model.embed(texts, { dim: model.dim as number, kind });
}

describe('a transformers model from a folder', () => {
  const models = new TransformersModels();
  afterAll(() => models.close());

  function made(name: string, options: TinyModelOptions = {}): string {
    const folder = models.path(name);
    writeTinyModel(folder, options);
    return folder;
  }

  describe.each(['model', 'model_quantized'] as const)('%s', (file) => {
    let model: EmbeddingModel;
    beforeAll(async () => {
      model = await models.open(made(file, { files: [file] }), { threads: 2 });
    });

    test('gives the same vectors on every machine', async () => {
      const vectors = await embedAll(model, TEXTS.slice(0, 2));
      vectors.forEach((vector, i) =>
        GOLDEN[file][i].forEach((value, place) => expect(vector[place]).toBeCloseTo(value, 3)),
      );
    });

    test('a text has the same vector alone and among others, of unit length', async () => {
      const together = await embedAll(model, TEXTS);
      for (const [i, text] of TEXTS.entries()) {
        const [alone] = await embedAll(model, [text]);
        expect(alone).toHaveLength(TINY_SHAPE.hidden);
        expect(Math.hypot(...alone)).toBeCloseTo(1, 5);
        expect(cosine(alone, together[i])).toBeGreaterThan(0.9999);
      }
    });

    test('a text that is longer than the model reads is told with what was left out, and its length is measured as it is sent', async () => {
      const long = 'the cat and dog '.repeat(200);
      const { lengths, most } = await model.measure!(['the cat', long]);
      expect(lengths[0]).toBeLessThan(most);
      const cuts: unknown[] = [];
      await model.embed(['the cat', long, 'a dog'], {
        dim: model.dim as number,
        kind: 'passage',
        onCut: (cut) => cuts.push(cut),
      });
      expect(cuts).toEqual([{ index: 1, read: most, left: lengths[1] - most, unit: 'tokens', isMore: false }]);
    });

    test('many calls at once get what each asked for', async () => {
      const alone = await Promise.all(TEXTS.map(async (text) => (await embedAll(model, [text]))[0]));
      const calls = await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          embedAll(model, [TEXTS[i % TEXTS.length], TEXTS[(i * 3) % TEXTS.length]], i % 2 === 0 ? 'query' : 'passage'),
        ),
      );
      calls.forEach(([first, second], i) => {
        expect(cosine(first, alone[i % TEXTS.length])).toBeGreaterThan(0.9999);
        expect(cosine(second, alone[(i * 3) % TEXTS.length])).toBeGreaterThan(0.9999);
      });
    });

    test('a long text is cut where the model stops reading, its end token kept', async () => {
      const words = TINY_SHAPE.positions - 2;
      const [cut, long, shorter] = await embedAll(model, [
        'sea road '.repeat(words / 2),
        `${'sea road '.repeat(words / 2)}cat dog rain`,
        'sea road '.repeat(words / 2 - 1),
      ]);
      expect(cosine(cut, long)).toBeGreaterThan(0.99999);
      expect(cosine(cut, shorter)).toBeLessThan(0.99999);
    });
  });

  test('which file is used: the smaller one unless EMBEDDING_DTYPE says otherwise', async () => {
    const folder = made('both', { files: ['model', 'model_quantized'] });
    const logged = (): unknown =>
      models.logged.findLast(({ message }) => message === 'embedding model ready')?.fields.dtype;
    await models.open(folder);
    expect(logged()).toBe('q8');
    await models.open(folder, { dtype: 'fp32' });
    expect(logged()).toBe('fp32');
    await expect(models.open(folder, { dtype: 'fp16' })).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: 'it has no onnx/model_fp16.onnx (EMBEDDING_DTYPE=fp16)',
    });
  });

  test('pooling, length and prefixes are as the model says', async () => {
    const plain = await models.open(made('plain'));
    const special = await models.open(
      made('special', {
        more: {
          'modules.json': [
            { idx: 0, path: '', type: 'sentence_transformers.models.Transformer' },
            { idx: 1, path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
          ],
          '1_Pooling/config.json': {
            word_embedding_dimension: 32,
            pooling_mode_cls_token: true,
            pooling_mode_mean_tokens: true,
          },
          'config_sentence_transformers.json': { prompts: { query: 'the cat ' } },
          'sentence_bert_config.json': { max_seq_length: 5 },
        },
      }),
    );
    expect([plain.dim, special.dim]).toEqual([32, 64]);
    const [query] = await embedAll(special, ['dog'], 'query');
    const [passage, long, longer] = await embedAll(special, [
      'the cat dog',
      'sun moon rain',
      'sun moon rain snow wind',
    ]);
    expect(cosine(query, passage)).toBeGreaterThan(0.99999);
    expect(cosine(long, longer)).toBeGreaterThan(0.99999);
    expect(Math.hypot(...query)).not.toBeCloseTo(1, 2);
    const [mean] = await embedAll(plain, ['the cat dog']);
    expect(cosine(passage.slice(32), mean)).toBeGreaterThan(0.9999);
  });

  test('two models in one process keep apart', async () => {
    const first = await models.open(made('first', { seed: 1 }));
    const second = await models.open(made('second', { seed: 2, shape: { hidden: 16 } }));
    const [[a], [b]] = await Promise.all([embedAll(first, ['the cat']), embedAll(second, ['the cat'])]);
    expect([a.length, b.length]).toEqual([32, 16]);
    expect((await embedAll(first, ['the cat']))[0]).toEqual(a);
    expect((await embedAll(second, ['the cat']))[0]).toEqual(b);
  });

  test('a closed model fails what it is asked', async () => {
    const model = await models.open(made('closed'));
    const busy = embedAll(model, new Array(500).fill('a red stone'));
    await Promise.all([expect(busy).rejects.toMatchObject({ kind: 'unavailable' }), model.close?.()]);
    await expect(embedAll(model, ['x'])).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test.each<[string, (folder: string) => void, string]>([
    ['no config', (folder) => writeFileSync(join(folder, 'config.json'), '[1'), 'its config.json is not valid JSON'],
    [
      'a config of another kind',
      (folder) => writeFileSync(join(folder, 'config.json'), '3'),
      'its config.json is not a JSON object',
    ],
    [
      'half a tokenizer',
      (folder) => truncateSync(join(folder, 'tokenizer.json'), 300),
      'its tokenizer.json is not valid JSON',
    ],
    [
      'a tokenizer without content',
      (folder) => writeFileSync(join(folder, 'tokenizer.json'), '{}'),
      "its tokenizer can't be used",
    ],
    [
      'half a graph',
      (folder) => truncateSync(join(folder, 'onnx/model.onnx'), 40_000),
      "its fp32 graph can't be loaded",
    ],
    ['an empty graph', (folder) => truncateSync(join(folder, 'onnx/model.onnx'), 0), "its fp32 graph can't be loaded"],
    [
      'a vocabulary beyond the graph',
      (folder) => writeTinyModel(folder, { shape: { vocabulary: 3 } }),
      "it can't embed",
    ],
  ])('a folder with %s is refused with the reason', async (name, harm, reason) => {
    const folder = made(`broken ${name}`);
    harm(folder);
    await expect(models.open(folder)).rejects.toMatchObject({ kind: 'embedding_unavailable', message: reason });
  });

  test('a folder without a model, and no folder at all', async () => {
    await expect(models.open(models.folder)).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: 'it has no config.json',
    });
    await expect(models.open(models.path('nowhere'))).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: 'there is no such folder',
    });
  });

  test('the registry names the model and the reason', async () => {
    const folder = made('named');
    truncateSync(join(folder, 'onnx/model.onnx'), 10);
    const registry = new EmbeddingRegistry({
      configured: folder,
      loader: (name) => models.open(name),
      log: silentLogger,
      clock: systemClock,
      patienceMs: 30_000,
    });
    await expect(registry.model(folder)).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: `The embedding model "${folder}" can't be loaded: its fp32 graph can't be loaded`,
    });
    expect((await registry.defaultModel()).name).toBe('builtin');
  });
});

const REAL = join(__dirname, '../../../shared/models/all-MiniLM-L6-v2');
const isThere = existsSync(join(REAL, 'config.json'));

describe('all-MiniLM-L6-v2', () => {
  const models = new TransformersModels();
  afterAll(() => models.close());

  (isThere ? test : test.skip)(
    isThere
      ? 'meaning wins over words'
      : 'meaning wins over words (skipped: no ../shared/models/all-MiniLM-L6-v2 beside the checkout)',
    async () => {
      const model = await models.open(REAL, { threads: 2 });
      expect(model.dim).toBe(384);
      const builtin = new BuiltinModel();
      const questions: [query: string, meaning: string, words: string][] = [
        [
          'a doctor looks after a sick kid',
          'The physician examined the ill child.',
          'The doctor looks after a kid goat and a sick joke.',
        ],
        [
          'the price of petrol went up',
          'Fuel is more expensive now.',
          'The balloon went up; the prize was a petrol can.',
        ],
        [
          'who is the leader of the country',
          'the president of the nation',
          'who is the lead singer of the country band',
        ],
      ];
      for (const texts of questions) {
        const [asked, meaning, words] = await embedAll(model, texts);
        expect(cosine(asked, meaning)).toBeGreaterThan(cosine(asked, words) + 0.03);
        const [lexical, ...others] = await builtin.embed(texts, { dim: 384, kind: 'passage' });
        expect(cosine(lexical, others[0])).toBeLessThan(cosine(lexical, others[1]));
      }
      const [alone] = await embedAll(model, [questions[0][1]]);
      const among = await embedAll(model, [...questions.flat(), ...new Array(20).fill('word '.repeat(200))]);
      expect(cosine(alone, among[1])).toBeGreaterThan(0.9999);
    },
  );
});
