import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';

/** The bounds by which blocks are skipped follow their list; the only document that they must not hide stands out. */

const COUNT = 6000;
const PLAIN = 'a b c';

function filled(outstanding: Record<number, string>): Bm25KeywordIndex {
  const index = new Bm25KeywordIndex();
  for (let slot = 0; slot < COUNT; slot++) index.put(slot, outstanding[slot] ?? PLAIN);
  return index;
}

const best = (index: Bm25KeywordIndex, term = 'a'): number =>
  index.search([term], index.statistics([term]), { k: 1, allowed: null }).slots[0];

test('blocks are skipped without the best document being lost', () => {
  for (const slot of [0, 63, 64, 3000, COUNT - 1]) expect(best(filled({ 100: 'a b', [slot]: 'a a a' }))).toBe(slot);
});

test('documents that follow later are in blocks of their own', () => {
  const index = filled({ 0: 'a b' });
  expect(best(index)).toBe(0);
  for (let slot = COUNT; slot < 2 * COUNT; slot++) index.put(slot, slot === 10_000 ? 'a a a' : PLAIN);
  expect(best(index)).toBe(10_000);
});

test('postings that move up take no old bounds with them', () => {
  const index = filled({ 4000: 'a b', 5000: 'a a a' });
  expect(best(index)).toBe(5000);
  for (let slot = 0; slot < 4000; slot++) index.remove(slot);
  for (let i = 0; i < 2000; i++) {
    index.put(0, PLAIN);
    index.remove(0);
  }
  expect(best(index)).toBe(5000);
});

test('a term that takes the number of one that is gone takes no bounds', () => {
  // Few enough are removed that nothing is renumbered, which would drop bounds too.
  const index = new Bm25KeywordIndex();
  const few = COUNT / 5 - 100;
  for (let slot = 0; slot < COUNT; slot++) index.put(slot, slot < few ? 'a b' : 'other words');
  for (const term of ['a', 'b']) expect(best(index, term)).toBe(0);
  for (let slot = 0; slot < few; slot++) index.remove(slot);
  for (let slot = 0; slot < few; slot++) index.put(slot, slot === 0 ? 'x' : slot === 1000 ? 'x x x' : 'x y');
  expect(best(index, 'x')).toBe(1000);
});

test('bounds hold when the average length has changed', () => {
  // The longer a document, the more it gains as the average rises: both overtake the plain ones, far above old bounds.
  const index = filled({ 10: `a a${' b'.repeat(7)}`, 5000: `a a${' b'.repeat(6)}` });
  expect(best(index)).toBe(0);
  let slot = COUNT;
  for (const length of [4, 6, 9, 30, 90]) {
    for (let i = 0; i < 1000; i++) index.put(slot++, 'filler '.repeat(length));
    const whole = index.search(['a'], index.statistics(['a']), { k: 2 * COUNT, allowed: null });
    expect(best(index)).toBe(whole.slots[0]);
  }
  expect(best(index)).toBe(5000);
});
