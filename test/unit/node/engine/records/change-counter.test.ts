import { ChangeCounter, ChangeWatch } from '../../../../../node/engine/records/change-counter';

function counterAndWatch() {
  const counter = new ChangeCounter();
  return { counter, watch: new ChangeWatch(counter.memory) };
}

test('what is read between changes belongs together', () => {
  const { counter, watch } = counterAndWatch();
  expect(watch.isUnchanged(watch.begin())).toBe(true);
  counter.begin();
  counter.end();
  expect(watch.isUnchanged(watch.begin())).toBe(true);
});

test('nothing is read during a change, and not before the outermost of several has ended', () => {
  const { counter, watch } = counterAndWatch();
  counter.begin();
  expect(watch.begin()).toBe(-1);
  counter.begin();
  counter.end();
  expect(watch.begin()).toBe(-1);
  counter.end();
  expect(watch.begin()).toBeGreaterThanOrEqual(0);
});

test('a change that began, or began and ended, since the reader began is noticed', () => {
  const { counter, watch } = counterAndWatch();
  const begun = watch.begin();
  counter.begin();
  expect(watch.isUnchanged(begun)).toBe(false);
  counter.end();
  expect(watch.isUnchanged(begun)).toBe(false);
});

test('a closed counter stays closed, whatever ends afterwards', () => {
  const { counter, watch } = counterAndWatch();
  const begun = watch.begin();
  counter.begin();
  counter.close();
  counter.end();
  counter.begin();
  counter.end();
  counter.close();
  expect(watch.begin()).toBe(-1);
  expect(watch.isUnchanged(begun)).toBe(false);
});

test('numbers go on past the largest of their words', () => {
  const { counter, watch } = counterAndWatch();
  new Int32Array(counter.memory)[0] = 2 ** 31 - 2;
  for (let i = 0; i < 3; i++) {
    const begun = watch.begin();
    expect(begun).toBeGreaterThanOrEqual(0);
    expect(watch.isUnchanged(begun)).toBe(true);
    counter.begin();
    expect(watch.begin()).toBe(-1);
    expect(watch.isUnchanged(begun)).toBe(false);
    counter.end();
  }
});

test('the count of live items is seen as it was set last', () => {
  const { counter, watch } = counterAndWatch();
  expect(watch.liveCount).toBe(0);
  counter.liveCount = 7;
  expect(watch.liveCount).toBe(7);
});
