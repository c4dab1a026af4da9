import { statusPreference } from '../../../../../coordinator/api/requests/status-preference';

test.each([
  [undefined, null],
  ['', null],
  ['status=real', 'real'],
  ['Status = "REAL"', 'real'],
  ['respond-async, status=real; more', 'real'],
  ['status=200', '200'],
  ['status=real, status=200', 'real'],
  ['return=minimal; status=real', null],
  ['status=really', null],
  ['xstatus=real', null],
  ['status=418', null],
])('%j wants %j', (header, expected) => {
  expect(statusPreference(header)).toBe(expected);
});
