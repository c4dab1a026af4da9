import { type JudgedQuery, readJudged, type SentQuery, sentJudged } from '../../../../dashboard/lab/judged';
import { JudgedKeeper, type KeptJudged } from '../../../../dashboard/lab/judged-keeper';

const grade = (query: string, id: string, value: number | null) =>
  ({ type: 'grade', query, id, grade: value }) as const;

/** A store whose writes are written down. */
function setUp(stored: SentQuery[]) {
  const state = { stored, writes: 0, removes: 0, failure: null as Error | null };
  let shown: KeptJudged | null = null;
  const during = { read: (): void => undefined };
  const keeper = new JudgedKeeper(
    {
      read: async () => {
        during.read();
        if (state.failure !== null) throw state.failure;
        return readJudged(state.stored);
      },
      write: async (judged: readonly JudgedQuery[]) => {
        state.writes += 1;
        state.stored = sentJudged(judged);
      },
      remove: async () => {
        state.removes += 1;
        state.stored = [];
      },
    },
    (next) => (shown = next),
  );
  return { state, keeper, during, shown: () => shown! };
}

test('a grade is shown at once, kept by a save, and what somebody else graded meanwhile stays', async () => {
  const { state, keeper, shown } = setUp([{ query: 'car', relevant: { a: 1 } }]);
  await keeper.load();
  keeper.edit([grade('car', 'b', 2)]);
  expect(shown()).toMatchObject({ isUnkept: true, failure: null });
  expect(shown().judged?.[0]?.grades.get('b')).toBe(2);
  state.stored = [
    { query: 'car', relevant: { a: 3 } },
    { query: 'boat', relevant: { c: 1 } },
  ];
  await keeper.save();
  const both = [
    { query: 'car', relevant: { a: 3, b: 2 } },
    { query: 'boat', relevant: { c: 1 } },
  ];
  expect(state.stored).toEqual(both);
  expect(sentJudged(shown().judged ?? [])).toEqual(both);
  expect(shown()).toMatchObject({ isUnkept: false, isSaving: false });
});

test('what can’t be stored stays here, and is stored with its first grade above 0', async () => {
  const { state, keeper, shown } = setUp([]);
  await keeper.load();
  keeper.edit([{ type: 'add', query: 'car' }, grade('boat', 'a', 0)]);
  await keeper.save();
  expect([state.writes, state.removes]).toEqual([0, 0]);
  expect(shown().isUnkept).toBe(false);
  expect(shown().judged?.map(({ query }) => query)).toEqual(['car', 'boat']);
  keeper.edit([grade('boat', 'b', 1)]);
  await keeper.save();
  expect(state.stored).toEqual([{ query: 'boat', relevant: { a: 0, b: 1 } }]);
  expect(
    shown()
      .judged?.map(({ query }) => query)
      .sort(),
  ).toEqual(['boat', 'car']);
});

test('grades that come during a write are kept by the next one', async () => {
  const { state, keeper, during } = setUp([]);
  await keeper.load();
  keeper.edit([grade('car', 'a', 1)]);
  during.read = () => {
    during.read = () => undefined;
    keeper.edit([grade('car', 'b', 2)]);
  };
  await keeper.save();
  expect(state.writes).toBe(2);
  expect(state.stored).toEqual([{ query: 'car', relevant: { a: 1, b: 2 } }]);
});

test('the last query that is removed takes the judgements with it', async () => {
  const { state, keeper } = setUp([{ query: 'car', relevant: { a: 1 } }]);
  await keeper.load();
  keeper.edit([{ type: 'remove', query: 'car' }]);
  await keeper.save();
  expect([state.writes, state.removes, state.stored]).toEqual([0, 1, []]);
});

test('a failure is shown, and the grade is kept once the service is back', async () => {
  const { state, keeper, shown } = setUp([]);
  await keeper.load();
  keeper.edit([grade('car', 'a', 1)]);
  state.failure = new Error('away');
  await keeper.save();
  expect(shown()).toMatchObject({ failure: state.failure, isUnkept: true, isSaving: false });
  expect(shown().judged?.[0]?.grades.get('a')).toBe(1);
  state.failure = null;
  await keeper.save();
  expect(shown()).toMatchObject({ failure: null, isUnkept: false });
  expect(state.stored).toEqual([{ query: 'car', relevant: { a: 1 } }]);
});
