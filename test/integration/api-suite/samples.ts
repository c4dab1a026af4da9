import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const ITEMS = Array.from({ length: 40 }, (_, i) => ({
  external_id: `item-${i}`,
  vector: [i, i % 4, 1],
  metadata: { n: i, half: i % 2, deep: { x: i } },
}));
const idsOf = (data: any): string[] => data.items.map(({ external_id }: any) => external_id);
const floatsOf = (base64: string): number[] => {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
};

export function samplesSuite(context: SuiteContext): void {
  describe('samples', () => {
    let name: string;
    const sample = (body?: unknown) => context.api.post(`/v1/collections/${name}/sample`, body);

    beforeAll(async () => {
      name = await context.collection({ distance_metric: 'l2' });
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items: ITEMS }));
    });

    test('without a body it has every item of a small collection, once, with its metadata', async () => {
      const data = dataOf(await sample());
      expect(data).toEqual({ size: 40, population: 40, seed: 0, items: expect.any(Array) });
      expect(idsOf(data).sort()).toEqual(ITEMS.map(({ external_id }) => external_id).sort());
      for (const { external_id: id, metadata } of data.items)
        expect(metadata).toEqual(ITEMS[Number(id.slice(5))].metadata);
    });

    test('the same seed draws the same items whatever the shards; a larger one holds the smaller; another seed draws others', async () => {
      const ten = idsOf(dataOf(await sample({ size: 10, seed: 7 })));
      expect(ten).toEqual(TEN_OF_SEED_7);
      expect(idsOf(dataOf(await sample({ size: 10, seed: 7, metadata_fields: [] })))).toEqual(ten);
      expect(idsOf(dataOf(await sample({ size: 20, seed: 7 }))).slice(0, 10)).toEqual(ten);
      expect(idsOf(dataOf(await sample({ size: 10, seed: 8 })))).not.toEqual(ten);
    });

    test('filters restrict what is drawn from, and metadata_fields what is answered', async () => {
      const data = dataOf(await sample({ size: 5, filters: { half: 1 }, metadata_fields: ['deep', 'none'] }));
      expect(data).toMatchObject({ size: 5, population: 20 });
      for (const { external_id: id, metadata } of data.items) {
        expect(Number(id.slice(5)) % 2).toBe(1);
        expect(metadata).toEqual({ deep: { x: Number(id.slice(5)) } });
      }
      expect(
        dataOf(
          await sample({ filters: { half: 9 }, include_vectors: true, projection: { method: 'pca', dimensions: 2 } }),
        ),
      ).toEqual({
        size: 0,
        population: 0,
        seed: 0,
        items: [],
        vectors: { format: 'base64_float32', count: 0, dimensions: 3, data: '' },
        projection: {
          method: 'pca',
          dimensions: 2,
          format: 'base64_float32',
          explained_variance: [0, 0],
          bounds: { minimum: [], maximum: [] },
          data: '',
        },
      });
    });

    test('vectors come in the order of the items', async () => {
      const { items, vectors } = dataOf(await sample({ size: 6, include_vectors: true, metadata_fields: ['n'] }));
      expect(vectors).toMatchObject({ format: 'base64_float32', count: 6, dimensions: 3 });
      expect(floatsOf(vectors.data)).toEqual(items.flatMap(({ metadata: { n } }: any) => [n, n % 4, 1]));
    });

    test('a projection goes along the axes of the greatest variance, the same each time', async () => {
      const body = { projection: { method: 'pca', dimensions: 2 }, metadata_fields: ['n'] };
      const { items, projection } = dataOf(await sample(body));
      expect(projection).toMatchObject({ method: 'pca', dimensions: 2, format: 'base64_float32' });
      expect(projection.explained_variance[0]).toBeGreaterThan(0.98);
      expect(projection.explained_variance[0] + projection.explained_variance[1]).toBeCloseTo(1, 5);
      const points = floatsOf(projection.data);
      // The first axis is all but that of n, and n rises along it.
      items.forEach(({ metadata: { n } }: any, i: number) =>
        expect(Math.abs(points[2 * i] - (n - 19.5))).toBeLessThan(0.5),
      );
      expect(projection.bounds.minimum[0]).toBeCloseTo(Math.min(...points.filter((_, i) => i % 2 === 0)), 5);
      expect(projection.bounds.maximum[1]).toBeCloseTo(Math.max(...points.filter((_, i) => i % 2 === 1)), 5);
      expect(dataOf(await sample(body)).projection).toEqual(projection);
    });

    test('what can’t be is refused', async () => {
      expect(errorOf(await sample({ size: 50_001 }), 422)).toContain('size');
      errorOf(await sample({ size: 0 }), 422);
      expect(errorOf(await sample({ seed: 2 ** 32 }), 422)).toContain('seed');
      expect(errorOf(await sample({ projection: { method: 'umap', dimensions: 2 } }), 422)).toContain(
        'projection.method',
      );
      errorOf(await sample({ projection: { method: 'pca', dimensions: 65 } }), 422);
      expect(errorOf(await sample({ projection: { method: 'pca', dimensions: 4 } }), 400)).toContain(
        'must be at most 3',
      );
      errorOf(await sample({ filters: { n: { $no: 1 } } }), 422);
    });
  });
}

/** The keys follow from seed and id alone, for good. */
const TEN_OF_SEED_7 = [
  'item-31',
  'item-29',
  'item-9',
  'item-5',
  'item-15',
  'item-27',
  'item-39',
  'item-34',
  'item-1',
  'item-28',
];
