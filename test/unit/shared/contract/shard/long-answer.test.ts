import { isLongAnswer } from '../../../../../shared/contract/shard/shard-read';

test('an answer is long by the metadata and texts of all its parts together', () => {
  const part = (characters: number) => ({ externalId: 'a', metadata: 'm'.repeat(characters), text: null });
  expect(isLongAnswer([part(40_000)])).toBe(true);
  expect(isLongAnswer({ hits: Array.from({ length: 50 }, () => part(1_000)) })).toBe(true);
  expect(isLongAnswer([null, { ...part(10), text: 't'.repeat(40_000) }])).toBe(true);
  for (const short of [[part(100), null], { hits: [part(1_000)] }, 7, null, { population: 3, keys: [] }])
    expect(isLongAnswer(short)).toBe(false);
});
