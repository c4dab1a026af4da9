import type { Endpoint } from '../../../../../coordinator/api/endpoints/endpoint';
import { vectorEndpoints } from '../../../../../coordinator/api/endpoints/vector-endpoints';

test('vectors that are made for an answer are told to what counts the memory of answers', async () => {
  const vectors = [Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 6)];
  const endpoints: Endpoint[] = vectorEndpoints({
    vectors: {} as never,
    search: { embed: async () => ({ vectors, cut: [], model: 'm' }) } as never,
    formats: { array: (vector: Float32Array) => `[${vector.join(',')}]` } as never,
    limits: { searchTextLengthMax: 100 } as never,
  });
  const embed = endpoints.find(({ template }) => template === '/v1/collections/{name}/embed')!;
  const kept: number[] = [];
  const answer = (await embed.handle({
    path: { name: 'c' },
    body: { texts: ['a', 'b'], kind: 'query' },
    hold: { keep: (bytes: number) => void kept.push(bytes) },
    warnings: { add: () => undefined },
  } as never)) as unknown as { pieces: Iterable<string> };
  expect([...answer.pieces].join('')).toBe('{"embedding_model":"m","vectors":[[1,2,3],[4,5,6]]}');
  expect(kept).toEqual([24]);
});
