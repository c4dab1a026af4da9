import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const VECTORS = Array.from({ length: 120 }, (_, i) => [Math.sin(i), Math.cos(3 * i), Math.sin(i * i)]);

export function recallSuite(context: SuiteContext): void {
  describe('a recall check', () => {
    const filled = async (fields: Record<string, unknown> = {}): Promise<string> => {
      const name = await context.collection(fields);
      const items = VECTORS.map((vector, i) => ({ external_id: `v${i}`, vector, metadata: { even: i % 2 === 0 } }));
      dataOf(await context.api.post(`/v1/collections/${name}/bulk_upsert`, { items }));
      return name;
    };
    const check = async (name: string, body?: unknown) =>
      dataOf(await context.api.post(`/v1/collections/${name}/recall_check`, body));

    test('compares calibrated searches with exact ones, over any number of shards', async () => {
      for (const fields of [
        { shards: 1 },
        { shards: 3, distance_metric: 'l2' },
        { quantization: 'binary', shards: 2 },
      ]) {
        const name = await filled(fields);
        const report = await check(name, { samples: 20, k: 5 });
        // Few vectors are scanned, so all are found.
        expect(report).toEqual({
          collection: name,
          k: 5,
          queries: 20,
          recall: 1,
          standard_error: 0,
          rows_scored: expect.any(Number),
          rows_rescored: expect.any(Number),
          calibrated_ms: expect.any(Number),
          exact_ms: expect.any(Number),
        });
        // Every shard scores all of its rows, or their originals at once.
        expect(report.rows_scored + report.rows_rescored).toBeGreaterThanOrEqual(VECTORS.length);
      }
    });

    test('asks given vectors, and no more samples than there are', async () => {
      const name = await filled();
      expect(
        await check(name, {
          queries: [
            [1, 2, 3],
            [-1, 0, 0.5],
          ],
          k: 200,
          filters: { even: true },
        }),
      ).toMatchObject({ queries: 2, recall: 1, k: 200 });
      expect(await check(name, { samples: 500, seed: 7 })).toMatchObject({ queries: VECTORS.length, recall: 1 });
      expect(await check(name)).toMatchObject({ queries: 100, k: 10 });
      expect(await check(name, { samples: 3, filters: { even: 'no' } })).toMatchObject({
        queries: 3,
        recall: null,
        standard_error: null,
      });
    });

    test('of an empty collection finds nothing to ask', async () => {
      expect(await check(await context.collection(), { samples: 5 })).toMatchObject({
        queries: 0,
        recall: null,
        standard_error: null,
        calibrated_ms: 0,
      });
    });

    test('says what is wrong with a request', async () => {
      const name = await filled();
      const refused = async (body: unknown, code: number) =>
        errorOf(await context.api.post(`/v1/collections/${name}/recall_check`, body), code);
      expect(await refused({ queries: [[1, 2]] }, 400)).toContain('query 0');
      expect(await refused({ queries: [[1, 2, 3]], samples: 3 }, 400)).toContain('samples');
      expect(await refused({ queries: [] }, 400)).toContain('queries');
      expect(await refused({ queries: Array.from({ length: 101 }, () => [1, 2, 3]) }, 400)).toContain('100');
      expect(await refused({ samples: 0 }, 422)).toContain('samples');
      expect(await refused({ samples: 501 }, 422)).toContain('samples');
      expect(await refused({ k: 1001 }, 422)).toContain('k');
      expect(errorOf(await context.api.post('/v1/collections/missing/recall_check', {}), 404)).toContain('missing');
    });
  });
}
