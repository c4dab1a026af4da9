import { estimate } from '../../../../dashboard/home/memory-estimate';

test('memory holds codes, links and facts, the disk the originals too; replicas count each', () => {
  const one = estimate({ dim: 768, vectors: 1_000_000, replicas: 1 });
  expect(one.memoryBytes).toBeGreaterThan(1_000_000 * (768 + 192));
  expect(one.diskBytes).toBeGreaterThan(1_000_000 * 4 * 768);
  expect(estimate({ dim: 768, vectors: 1_000_000, replicas: 3 })).toEqual({
    memoryBytes: 3 * one.memoryBytes,
    diskBytes: 3 * one.diskBytes,
  });
});
