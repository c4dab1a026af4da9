import { type Gate, OPEN_GATE } from '../../../../node/records/shard-gate';
import type { ShardOperation } from '../../../../node/shard/checked-write';
import { planWrites, type WritePlan } from '../../../../node/shard/write-plan';
import { resultOf } from '../../../../shared/time/work-slices';

const FILLING: Gate = { ...OPEN_GATE, stage: 'filling', term: 5, reshard: 'r' };

const put = (term: number, value: number): ShardOperation => ({ type: 'import', term, externalId: 'a', item: { vector: Float32Array.of(value), stamp: value, metadata: '{}', text: null } });
const taken = (term: number): ShardOperation => ({ type: 'import', term, externalId: 'a', item: null });
const upsert: ShardOperation = { type: 'upsert', externalId: 'a', vector: Float32Array.of(9), stamp: 9, metadata: undefined, text: undefined };
const plan = (gate: Gate, ...operations: ShardOperation[]): WritePlan => resultOf(planWrites([operations], () => null, gate));

test('an import counts in the term of its shard alone: a copy that comes late, of an item or of its deletion, does nothing', () => {
  const { outcomes, puts, deletes } = plan(FILLING, put(5, 1), put(4, 2), taken(4), put(6, 3));
  expect(outcomes).toEqual([['updated', 'outdated', 'outdated', 'outdated']]);
  expect(puts.map(({ item }) => [...item.vector])).toEqual([[1]]);
  expect(deletes).toEqual([]);
});

test('the next term keeps out what comes in the last one, within one batch, too', () => {
  const next: ShardOperation = { type: 'stage', term: 6, reshard: 'r', stage: 'filling', forget: 0 };
  const { outcomes, puts } = plan(FILLING, put(5, 1), next, put(5, 2), put(6, 3));
  expect(outcomes).toEqual([['updated', 'updated', 'outdated', 'updated']]);
  expect(puts.map(({ item }) => [...item.vector])).toEqual([[3]]);
});

test('only a shard that is being filled takes imports, and it takes nothing else', () => {
  for (const stage of ['open', 'tracking', 'sealed', 'closed'] as const) expect(plan({ ...FILLING, stage }, put(5, 1)).outcomes).toEqual([['outdated']]);
  expect(plan(FILLING, upsert, { type: 'delete', externalId: 'a' }).outcomes).toEqual([['refused', 'refused']]);
});
