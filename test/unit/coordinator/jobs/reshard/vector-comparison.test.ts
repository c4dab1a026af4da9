import { ItemEmbedder } from '../../../../../coordinator/jobs/reshard/item-embedder';
import type { ShardTransfers } from '../../../../../coordinator/jobs/reshard/shard-transfers';
import { VectorComparison } from '../../../../../coordinator/jobs/reshard/vector-comparison';
import type { EmbeddingModel } from '../../../../../coordinator/models/embedding-provider';
import type { Compared } from '../../../../../coordinator/service/collections/reshard-record';
import type { JudgedQuery } from '../../../../../coordinator/service/judgements-service';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../support/manual-clock';

const side = (name: string) => ({
  set: { uid: name, shards: 1 },
  model: { dim: 2, embeddingModel: name, embedding: null },
});

/** Every search finds the one item that is relevant. */
const transfers = {
  readAll: async (_: unknown, kind: string) =>
    kind === 'search' ? [{ hits: [{ externalId: 'a', score: 1 }] }] : [{ diskBytes: 7 }],
} as unknown as ShardTransfers;

const JUDGED: JudgedQuery[] = [{ query: 'q', relevant: new Map([['a', 1]]) } as unknown as JudgedQuery];

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

function compared(
  oldModel: () => Promise<EmbeddingModel>,
  judged: () => Promise<JudgedQuery[]> = async () => JUDGED,
): Promise<Compared> {
  const model = (name: string): EmbeddingModel => ({
    name,
    dim: 2,
    embed: async (texts) => texts.map(() => Float32Array.from([1, 0])),
  });
  const embedding = {
    modelFor: async ({ embeddingModel }: { embeddingModel: string | null }) =>
      embeddingModel === 'old' ? oldModel() : model('new'),
  } as ConstructorParameters<typeof ItemEmbedder>[0]['embedding'];
  const vectors = new ItemEmbedder({ clock, embedding });
  const stop = new AbortController().signal;
  return new VectorComparison({ transfers, vectors, judged, clock, stop }).of(side('old'), side('new'), {
    judged: 'j',
  });
}

test('items that have fields of the template alone are compared by these', async () => {
  const drawn = { population: 1, externalIds: ['a'], keys: Float64Array.of(1) };
  const texts: string[] = [];
  const made: EmbeddingModel = {
    name: 'new',
    dim: 2,
    embed: async (some) => {
      texts.push(...some);
      return some.map(() => Float32Array.from([1, 0]));
    },
  };
  const sampled = {
    readAll: async (set: unknown, kind: string, asked: unknown) =>
      kind === 'sample' ? [drawn] : transfers.readAll(set as never, kind as never, asked as never),
    statesIn: async () => [
      {
        externalId: 'a',
        item: { externalId: 'a', text: null, metadata: '{"title":"Rivers"}', vector: Float32Array.of(1, 0) },
      },
    ],
  } as unknown as ShardTransfers;
  const embedding = { modelFor: async () => made } as ConstructorParameters<typeof ItemEmbedder>[0]['embedding'];
  const stop = new AbortController().signal;
  const vectors = new ItemEmbedder({ clock, embedding });
  const [before, after] = [side('old'), side('new')];
  const titled = { ...after, model: { ...after.model, embedding: { model: 'local:new', template: '{{title}}' } } };
  const comparison = new VectorComparison({ transfers: sampled, vectors, judged: async () => [], clock, stop });
  expect(await comparison.of(before, titled, { sample: 1 })).toMatchObject({ queries: 1, overlap: 1 });
  expect(texts).toEqual(['Rivers', 'Rivers']);
});

test('a model of before that is gone is told, and the rest is compared', async () => {
  const gone = async (): Promise<never> => {
    throw new QuiverError('embedding_unavailable', 'there is no model "old"');
  };
  expect(await compared(gone)).toEqual({
    queries: 1,
    overlap: null,
    ndcg: { before: null, after: 1 },
    bytes: { before: 7, after: 7 },
    problem: 'there is no model "old"',
  });
});

test('one that makes other vectors by now is told as well', async () => {
  const other = async (): Promise<EmbeddingModel> => ({ name: 'old', dim: 5, embed: async () => [] });
  expect(await compared(other)).toMatchObject({
    overlap: null,
    problem: expect.stringContaining('makes vectors of 5'),
  });
});

test('one that is away is waited for, but not for ever', async () => {
  let tries = 0;
  const loading = async (): Promise<never> => {
    tries += 1;
    clock.advance(30_000);
    throw new QuiverError('unavailable', 'it is being loaded');
  };
  expect(await compared(loading)).toMatchObject({ ndcg: { before: null, after: 1 }, problem: 'it is being loaded' });
  expect(tries).toBe(2);
});

test('one that is always busy is waited for, but not for ever', async () => {
  const busy = async (): Promise<EmbeddingModel> => ({
    name: 'old',
    dim: 2,
    embed: async () => {
      clock.advance(20_000);
      throw new QuiverError('overloaded', 'it is busy');
    },
  });
  expect(await compared(busy)).toMatchObject({ ndcg: { before: null, after: 1 }, problem: 'it is busy' });
});

test('judgements that were deleted meanwhile are told, and nothing is compared', async () => {
  const deleted = async (): Promise<never> => {
    throw new QuiverError('not_found', 'no judgements "j"');
  };
  const model = async (): Promise<EmbeddingModel> => ({ name: 'old', dim: 2, embed: async () => [] });
  expect(await compared(model, deleted)).toEqual({
    queries: 0,
    overlap: null,
    ndcg: null,
    bytes: { before: 7, after: 7 },
    problem: 'no judgements "j"',
  });
});
