import { estimate } from '../../../../../coordinator/dashboard/home/memory-estimate';

test('memory holds codes, links and facts, the disk the originals too; replicas count each', () => {
  const one = estimate({ dim: 768, vectors: 1_000_000, shards: 1, replicas: 1 });
  expect(one.memoryBytes).toBeGreaterThan(1_000_000 * (768 + 192));
  expect(one.diskBytes).toBeGreaterThan(1_000_000 * 4 * 768);
  expect(estimate({ dim: 768, vectors: 1_000_000, shards: 1, replicas: 3 }).memoryBytes).toBe(3 * one.memoryBytes);
  // Shards with few rows have no graph.
  expect(estimate({ dim: 768, vectors: 1_000_000, shards: 256, replicas: 1 }).memoryBytes).toBeLessThan(one.memoryBytes);
});
