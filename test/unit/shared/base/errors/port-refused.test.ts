import { isPortTaken, portRefused } from '../../../../../shared/base/errors/port-refused';

test.each([
  ['EADDRINUSE', 'PORT', true],
  ['EACCES', 'PORT', false],
  ['ENOTFOUND', 'HOST', false],
  ['EADDRNOTAVAIL', 'HOST', false],
])('%s is of the setting %s', (code, setting, isTaken) => {
  const error = portRefused('port x:1', 'PORT', Object.assign(new Error(code), { code }));
  expect(error.message).toBe(`the port x:1 can't be opened (${setting}): ${code}`);
  expect(isPortTaken(error)).toBe(isTaken);
});
