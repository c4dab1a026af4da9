import { sharedHeapGrowth, V8HeapGrowth } from '../../../../../coordinator/api/load/heap-growth';

test('threads share what V8 was told, so that one does not take it for what another has changed', () => {
  const told: string[] = [];
  const shared = sharedHeapGrowth();
  const [first, second] = [0, 1].map(() => new V8HeapGrowth(shared, (flag) => told.push(flag)));
  first.be('fast');
  expect(told).toEqual([]);
  first.be('small');
  second.be('small');
  second.be('fast');
  first.be('small');
  expect(told).toEqual(['--heap-growing-percent=50', '--heap-growing-percent=0', '--heap-growing-percent=50']);
});
