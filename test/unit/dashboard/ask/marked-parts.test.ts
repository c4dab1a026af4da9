import { partsOf } from '../../../../dashboard/ask/marked-parts';

test('a text is divided at a place, or not at all', () => {
  expect(partsOf('snow melts', { start: 5, end: 10 })).toEqual(['snow ', 'melts', '']);
  expect(partsOf('snow', null)).toEqual(['snow', '', '']);
});
