import type { EmbeddingModel } from '../../coordinator/embedding/embedding-provider';
import { writeTinyModel } from '../support/onnx/tiny-model';
import { cosine, TransformersModels } from '../support/transformers-models';

const TEXTS = ['the cat', 'a red stone on the slow river', 'Rain, wind and snow: 12 dogs!', 'x', '', 'sea road '.repeat(60), 'the cat'];

async function embedAll(model: EmbeddingModel, texts: string[], kind: 'query' | 'passage' = 'passage'): Promise<Float32Array[]> {
  return model.embed(texts, { dim: model.dim as number, kind });
}

describe('a transformers model from a folder', () => {
  const models = new TransformersModels();
  afterAll(() => models.close());

  test.each(['model', 'model_quantized'] as const)('%s: a text has the same vector alone and among others', async (file) => {
    const folder = models.path(`alone-${file}`);
    writeTinyModel(folder, { files: [file] });
    const model = await models.open(folder, { threads: 2 });
    const together = await embedAll(model, TEXTS);
    for (const [i, text] of TEXTS.entries()) {
      const [alone] = await embedAll(model, [text]);
      expect(alone).toHaveLength(32);
      expect(Math.hypot(...alone)).toBeCloseTo(1, 5);
      expect(cosine(alone, together[i])).toBeGreaterThan(0.9999);
    }
    expect(models.logged.at(-1)).toMatchObject({ message: 'embedding model ready', fields: { dim: 32, threads: 2, batches: file === 'model', tokensMax: 64 } });
  });
});
