import { contradictionsOf, type RegisterOperation } from '../../../../support/stories/register-history';

/** The judge of the fault tests, judged: a right history passes, each kind of lie is told. */

function op(
  kind: RegisterOperation['kind'],
  value: number | null,
  invokedMs: number,
  returnedMs: number,
  outcome: RegisterOperation['outcome'] = 'ok',
): RegisterOperation {
  return { client: 1, id: 'x', kind, value, invokedMs, returnedMs, outcome };
}

test('a right history has no contradiction, with overlapping and unanswered writes in it', () => {
  expect(
    contradictionsOf([
      op('read', null, 0, 1),
      op('write', 1, 2, 6),
      op('read', null, 3, 4),
      op('read', 1, 4, 5),
      op('write', 2, 7, Infinity, 'unknown'),
      op('read', 1, 8, 9),
      op('read', 2, 10, 11),
      op('delete', null, 12, 13),
      op('read', null, 14, 15),
      op('write', 3, 16, 17, 'failed'),
      op('read', null, 18, 19),
    ]),
  ).toEqual([]);
});

test.each<[string, RegisterOperation[], RegExp]>([
  ['a lost write', [op('write', 1, 0, 1), op('read', null, 2, 3)], /a write is lost/],
  ['an undone delete', [op('write', 1, 0, 1), op('delete', null, 2, 3), op('read', 1, 4, 5)], /deleted .* came after/],
  ['a stale read', [op('write', 1, 0, 1), op('write', 2, 2, 3), op('read', 1, 4, 5)], /wrote 2 .* came after/],
  ['a value from nowhere', [op('read', 7, 0, 1)], /nobody wrote/],
  ['a refused write that took effect', [op('write', 1, 0, 1, 'failed'), op('read', 1, 2, 3)], /refused/],
  ['a read of the future', [op('read', 1, 0, 1), op('write', 1, 2, 3)], /before .* began/],
  [
    'a read that goes back before a write that was never answered',
    [op('write', 1, 0, 1), op('write', 2, 2, Infinity, 'unknown'), op('read', 2, 3, 4), op('read', 1, 5, 6)],
    /went back/,
  ],
])('%s is told', (_what, history, message) => {
  expect(contradictionsOf(history).join('\n')).toMatch(message);
});
