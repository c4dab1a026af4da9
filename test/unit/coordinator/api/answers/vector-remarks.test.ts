import { warnOfCutTexts } from '../../../../../coordinator/api/answers/vector-remarks';
import { RequestWarnings } from '../../../../../coordinator/api/requests/request-warnings';
import type { CutText } from '../../../../../coordinator/models/cut-text';

const BOUND = 'longer than the 256 tokens that the model reads';

function told(cut: Pick<CutText, 'index' | 'place'>[], placeOf?: (index: number) => string): string[] {
  const warnings = new RequestWarnings();
  const whole = cut.map((one): CutText => ({ ...one, read: 256, left: 10, unit: 'tokens', isMore: false }));
  warnOfCutTexts({ cut: whole }, warnings, placeOf);
  return warnings.list;
}

test('a text that is too long is named by its place where a request may have several', () => {
  const left = 'what is left out at their ends has no part in their vectors';
  expect(told([{ index: 0 }])).toEqual([`the text is ${BOUND}: 10 tokens at its end have no part in its vector`]);
  expect(told([{ index: 0, place: 'legs[1].text' }])).toEqual([
    `one text is ${BOUND}; ${left}: legs[1].text (10 tokens)`,
  ]);
  const both = [
    { index: 0, place: 'legs[0].text' },
    { index: 0, place: 'legs[2].like.positives[0].text' },
  ];
  expect(told(both)).toEqual([
    `2 texts are ${BOUND}; ${left}: legs[0].text (10 tokens), legs[2].like.positives[0].text (10 tokens)`,
  ]);
  const queries = [{ index: 0 }, { index: 3, place: 'negatives[1].text' }];
  expect(told(queries, (index) => `queries[${index}]`)).toEqual([
    `2 texts are ${BOUND}; ${left}: queries[0] (10 tokens), queries[3].negatives[1].text (10 tokens)`,
  ]);
});
