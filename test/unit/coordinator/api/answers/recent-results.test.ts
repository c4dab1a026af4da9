import { recentOf, RecentResults } from '../../../../../coordinator/api/answers/recent-results';

test('the last eight are remembered', () => {
  const recent = new RecentResults<number>();
  for (let i = 0; i < 10; i++) recent.put(`text ${i}`, i);
  expect(Array.from({ length: 11 }, (_, i) => recent.get(`text ${i}`))).toEqual([
    undefined,
    undefined,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    undefined,
  ]);
});

test('each owner has its own', () => {
  const table = new Map<string, RecentResults<number>>();
  recentOf(table, 'a').put('text', 1);
  expect([recentOf(table, 'a').get('text'), recentOf(table, 'b').get('text')]).toEqual([1, undefined]);
});
