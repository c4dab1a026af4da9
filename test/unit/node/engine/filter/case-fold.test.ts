import { caseTable, foldCases } from '../../../../../node/engine/filter/case-fold';

test.each([
  ['RiVer 7', 'river 7'],
  ['ΣΊΣΥΦΟΣ σίσυφος', 'σίσυφοσ σίσυφοσ'],
  ['Straße STRASSE ẞ', 'straße strasse ß'],
  ['ſ K Å µ ϐ', 's k å μ β'],
  ['İ I ı i', 'İ i ı i'],
  ['ǅ ǆ Ǆ', 'ǆ ǆ ǆ'],
  ['Жизнь É é', 'жизнь é é'],
  ['\u{10400}\u{10428} 😀 \ud800', '\u{10428}\u{10428} 😀 \ud800'],
])('%s', (text, folded) => {
  expect(foldCases(text)).toBe(folded);
});

test('the table is what the function does, folds once, and keeps lengths and high surrogates', () => {
  const { units, pairs } = caseTable();
  for (let unit = 0; unit < units.length; unit++) {
    const text = String.fromCharCode(unit);
    if (foldCases(text) !== String.fromCharCode(units[unit]) || units[units[unit]] !== units[unit])
      throw new Error(`U+${unit.toString(16)}`);
  }
  expect(pairs.length).toBeGreaterThan(400);
  for (let i = 0; i < pairs.length; i += 2) {
    const [from, to] = [String.fromCodePoint(pairs[i]), String.fromCodePoint(pairs[i + 1])];
    expect(foldCases(from)).toBe(to);
    expect(foldCases(to)).toBe(to);
    expect(to[0]).toBe(from[0]);
    if (i > 0) expect(pairs[i]).toBeGreaterThan(pairs[i - 2]);
  }
});
