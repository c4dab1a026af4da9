import { PutRate } from '../../../../../node/engine/vector/put-rate';

test('nothing is put at first', () => {
  expect(new PutRate().perSecond(0)).toBe(0);
});

test('the first batches count by half a second, however soon they came', () => {
  const rate = new PutRate();
  rate.note(1_000, 10);
  rate.note(1_000, 60);
  expect(rate.perSecond(60)).toBe(4_000);
});

test('a load has the rate of the stretch before, or of the present one if that is higher', () => {
  const rate = new PutRate();
  for (let ms = 0; ms <= 500; ms += 50) rate.note(1_000, ms);
  expect(rate.perSecond(510)).toBe(20_000);
  rate.note(20_000, 520);
  expect(rate.perSecond(520)).toBe(42_000);
});

test('after a pause little is left of the rate, and a put then counts alone', () => {
  const rate = new PutRate();
  for (let ms = 0; ms <= 400; ms += 50) rate.note(1_000, ms);
  expect(rate.perSecond(9_000)).toBe(1_000);
  rate.note(1, 9_000);
  expect(rate.perSecond(9_000)).toBe(1_000);
  rate.note(1, 9_500);
  expect(rate.perSecond(9_500)).toBe(2);
});

test('the longest gap between batches is known, without pauses', () => {
  const rate = new PutRate();
  for (const ms of [0, 30, 150, 180]) rate.note(1_000, ms);
  expect(rate.longestGapMs).toBe(120);
  rate.note(1_000, 5_000);
  expect(rate.longestGapMs).toBe(120);
  for (const ms of [5_040, 5_500, 5_520]) rate.note(1_000, ms);
  expect(rate.longestGapMs).toBe(460);
});
