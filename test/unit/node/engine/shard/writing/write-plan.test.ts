import { type StageState, OPEN_STAGE } from '../../../../../../node/engine/records/shard-stage-state';
import type { ShardOperation } from '../../../../../../node/engine/shard/writing/checked-write';
import { countAfter, UNCOUNTED, versionChanges } from '../../../../../../node/engine/records/version-count';
import {
  type PlanGround,
  planWrites,
  type PriorItem,
  type WritePlan,
} from '../../../../../../node/engine/shard/writing/write-plan';
import { resultOf } from '../../../../../../shared/base/time/work-slices';
import { stampAt, timeOfStamp } from '../../../../../../shared/contract/writes/stamp-time';

const FILLING: StageState = { ...OPEN_STAGE, stage: 'filling', term: 5, reshard: 'r' };

const put = (term: number, value: number): ShardOperation => ({
  type: 'import',
  term,
  externalId: 'a',
  item: { vector: Float32Array.of(value), stamp: value, metadata: '{}', text: null },
});
const taken = (term: number): ShardOperation => ({ type: 'import', term, externalId: 'a', item: null });
const upsert: ShardOperation = {
  type: 'upsert',
  externalId: 'a',
  vector: Float32Array.of(9),
  stamp: 9,
  metadata: undefined,
  text: undefined,
};
const plan = (stageState: StageState, ...operations: ShardOperation[]): WritePlan =>
  resultOf(
    planWrites([operations], {
      priorOf: () => null,
      vectorOf: () => Float32Array.of(0),
      stageState,
      versions: { isCounting: true, last: 0 },
      highestVersion: () => 0,
    }),
  );

test('an import counts in the term of its shard alone: a copy that comes late, of an item or of its deletion, does nothing', () => {
  const { results, puts, deletes } = plan(FILLING, put(5, 1), put(4, 2), taken(4), put(6, 3));
  expect(results.map(({ outcomes }) => outcomes)).toEqual([['updated', 'outdated', 'outdated', 'outdated']]);
  expect(puts.map(({ item }) => [...item.vector])).toEqual([[1]]);
  expect(deletes).toEqual([]);
});

test('the next term keeps out what comes in the last one, within one batch, too', () => {
  const next: ShardOperation = { type: 'stage', term: 6, reshard: 'r', stage: 'filling', forget: 0 };
  const { results, puts } = plan(FILLING, put(5, 1), next, put(5, 2), put(6, 3));
  expect(results.map(({ outcomes }) => outcomes)).toEqual([['updated', 'updated', 'outdated', 'updated']]);
  expect(puts.map(({ item }) => [...item.vector])).toEqual([[3]]);
});

test('only a shard that is being filled takes imports, and it takes nothing else', () => {
  for (const stage of ['open', 'tracking', 'sealed', 'closed'] as const)
    expect(plan({ ...FILLING, stage }, put(5, 1)).results.map(({ outcomes }) => outcomes)).toEqual([['outdated']]);
  expect(plan(FILLING, upsert, { type: 'delete', externalId: 'a' }).results.map(({ outcomes }) => outcomes)).toEqual([
    ['refused', 'refused'],
  ]);
});

describe('versions', () => {
  const PRIOR: PriorItem = { slot: 3, recno: 1, stamp: 70, version: 70, metadata: '{}', text: null };
  const planOn = (requests: ShardOperation[][], more: Partial<PlanGround> = {}): WritePlan =>
    resultOf(
      planWrites(requests, {
        priorOf: (id) => (id === 'a' ? PRIOR : null),
        vectorOf: () => Float32Array.of(0),
        stageState: OPEN_STAGE,
        versions: UNCOUNTED,
        highestVersion: (except) => (except.has(3) ? 50 : 70),
        ...more,
      }),
    );
  const upsertOf = (externalId: string, stamp: number): ShardOperation =>
    ({ ...upsert, externalId, stamp }) as ShardOperation;

  test('none is given before a write says so', () => {
    const { results, puts, versions } = planOn([[upsertOf('a', 90), upsertOf('b', 91)]], { counted: [false] });
    expect(results[0].firstVersion).toBe(0);
    expect(puts.map(({ item }) => item.version)).toEqual([0, 0]);
    expect(versions).toBe(UNCOUNTED);
  });

  test('begin above the items that are there, in whatever batches the writes before came', () => {
    const deletion: ShardOperation = { type: 'delete', externalId: 'a' };
    // The item with the highest one goes in the same batch, or in one before.
    expect(planOn([[deletion], [upsertOf('b', 7)]], { counted: [false, true] }).results[1].firstVersion).toBe(51);
    expect(
      planOn([[upsertOf('b', 7)]], { priorOf: () => null, highestVersion: () => 50 }).results[0].firstVersion,
    ).toBe(51);
    // So does one that is new in it.
    expect(planOn([[upsertOf('c', 80)], [upsertOf('b', 7)]], { counted: [false, true] }).results[1].firstVersion).toBe(
      81,
    );
    expect(
      planOn([[upsertOf('b', 7)], [upsertOf('b', 8)]], { counted: [true, false] }).results.map(
        ({ firstVersion }) => firstVersion,
      ),
    ).toEqual([71, 72]);
  });

  test('what goes, or was given in vain, has to be stored, and what an item shows need not be', () => {
    const counting = { isCounting: true, last: 100 };
    const stored = (plan: WritePlan, highestPut: number) =>
      versionChanges(plan.versions, counting, { highestPut, hasLoss: plan.deletes.length > 0 }).length;
    expect(stored(planOn([[upsertOf('a', 7)]], { versions: counting }), 101)).toBe(0);
    expect(stored(planOn([[{ type: 'delete', externalId: 'a' }]], { versions: counting }), 0)).toBe(1);
    expect(stored(planOn([[upsertOf('b', 7)], [{ type: 'delete', externalId: 'b' }]], { versions: counting }), 0)).toBe(
      1,
    );
    expect(countAfter(100, () => 90)).toEqual(counting);
    expect(countAfter(100, () => 120)).toEqual({ isCounting: true, last: 120 });
    expect(countAfter(null, () => 120)).toBe(UNCOUNTED);
  });

  test('tell when items changed, where the write says so and its moment is one', () => {
    const ms = 1_700_000_000_000;
    const patch: ShardOperation = { type: 'patch', externalId: 'a', vector: undefined, metadata: undefined, text: 't' };
    const requests = [[patch], [upsertOf('b', 2 * stampAt(ms))], [upsertOf('c', 7)], [upsertOf('d', 8)]];
    const { puts } = planOn(requests, { dated: [true, true, false, true], moments: [ms, ms, ms, 9] });
    expect(puts.map(({ item }) => [item.version - stampAt(ms), item.dated])).toEqual([
      [0, true],
      [stampAt(ms), true],
      [stampAt(ms) + 1, false],
      [stampAt(ms) + 2, false],
    ]);
    expect([stampAt(ms) + 4095, stampAt(ms) + 4096].map(timeOfStamp)).toEqual([ms, ms + 1]);
    // Clocks that are wrong by decades.
    expect([stampAt(0), stampAt(4e12), stampAt(Number.NaN)]).toEqual([0, 0, 0]);
  });

  test('a shard that takes the place of others goes on above theirs', () => {
    const stage: ShardOperation = { type: 'stage', term: 6, reshard: 'r', stage: 'open', forget: 0, versionFloor: 500 };
    const imported: ShardOperation = {
      type: 'import',
      term: 5,
      externalId: 'i',
      item: { vector: Float32Array.of(1), stamp: 3, metadata: '{}', text: null, version: 400 },
    };
    const { results, puts, versions } = planOn([[imported], [stage], [upsertOf('b', 7)]], { stageState: FILLING });
    expect(puts.map(({ item }) => item.version)).toEqual([400, 501]);
    expect(results[2].firstVersion).toBe(501);
    expect(versions.last).toBe(501);
  });
});
