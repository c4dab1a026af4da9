import { longIntegers, warnOfLongIntegers } from '../../../../../coordinator/api/body/long-integers';
import { RequestWarnings } from '../../../../../coordinator/api/requests/request-warnings';
import { openCodecs } from '../../../../support/http/scanned-body';

const LIST = { name: 'items', lengthMax: 1000 };

test('whole numbers beyond 2^53 are found with their places, and nothing else', () => {
  const text = String.raw`{"a":9007199254740992,"b":-9007199254740992,"c":9007199254740993,"d\"e":{"f":[0,[1,-9007199254740994],"{\"x\":12345678901234567890,["]},
    "exponent":1e30,"fraction":12345678901234567.5,"g":[{"h":36028797018963969}],"vector":[9007199254740993,[9007199254740993]],"12345678901234567890":1,"last":10000000000000000000000}`;
  expect(JSON.parse(text)).toBeDefined();
  expect(longIntegers(text)).toEqual([
    { path: 'c', digits: '9007199254740993' },
    { path: 'd"e.f[1][1]', digits: '-9007199254740994' },
    { path: 'g[0].h', digits: '36028797018963969' },
    { path: 'last', digits: '10000000000000000000000' },
  ]);
  expect(longIntegers('[{"metadata":{"a":1}},{"metadata":{"a":9007199254740993}}]', 'items', 40)).toEqual([
    { path: 'items[41].metadata.a', digits: '9007199254740993' },
  ]);
  expect(
    longIntegers(
      '{"items":[{"vector":[9007199254740993],"metadata":{"vector":[9007199254740993]}}],"over":{"vector":[9007199254740993]}}',
    ),
  ).toEqual([{ path: 'items[0].metadata.vector[0]', digits: '9007199254740993' }]);
  expect(longIntegers('9007199254740993')).toEqual([{ path: '', digits: '9007199254740993' }]);
});

test('of very many, the first are told', () => {
  const warnings = new RequestWarnings();
  warnOfLongIntegers(longIntegers(`[${Array.from({ length: 100 }, () => '9007199254740993').join(',')}]`), warnings);
  expect(warnings.list).toHaveLength(11);
  expect(warnings.list[10]).toBe('more whole numbers are beyond 2^53');
});

test.each(openCodecs())('the %s scanner says whether there may be some', (_name, { scanner }) => {
  const has = (text: string, list: typeof LIST | null): unknown => {
    const scan = scanner.scan(Buffer.from(text), list);
    return scan.flaw === undefined ? scan.hasLongIntegers : scan;
  };
  for (const [text, expected] of [
    ['{"a":1234567890123456}', true],
    ['{"a":-1234567890123456}', true],
    ['{"a":123456789012345}', false],
    ['{"a":0.1234567890123456}', false],
    ['{"a":"1234567890123456789"}', false],
    ['{"vector":[1234567890123456789]}', false],
    ['{"items":[{"vector":[12345678901234567890],"metadata":{"a":[{"b":1234567890123456}]}}]}', true],
    ['{"items":[{"vector":[12345678901234567890],"metadata":{}}]}', false],
  ] as const) {
    expect([text, has(text, LIST), has(text, null)]).toEqual([
      text,
      expected,
      expected || text.includes('"items":[{"vector"'),
    ]);
  }
});
