import type { IncomingMessage } from 'node:http';
import { BasePath } from '../../../../../coordinator/api/requests/base-path';
import { NetworkList } from '../../../../../shared/base/config/network-list';
import { prefixIn } from '../../../../../shared/base/config/path-prefix';

const from = (remoteAddress: string, prefix?: string | string[]): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-prefix': prefix } }) as unknown as IncomingMessage;
const proxies = new NetworkList(['10.0.0.0/8']);

test.each([
  ['/a', '/a'],
  ['/a/b-c_d.e~f/', '/a/b-c_d.e~f'],
  ['', ''],
  ['/', ''],
  ['//evil.example', null],
  ['/a//b', null],
  ['/../a', null],
  ['/a/.', null],
  ['/..a', '/..a'],
  ['https://evil.example', null],
  ['/a"onload="x', null],
  ['/<script>', null],
  ['/a%2f', null],
  ['/a\nb', null],
  ['/a\\b', null],
  ['/é', null],
  [`/${'x'.repeat(300)}`, null],
])('%j as a prefix is %j', (text, expected) => {
  expect(prefixIn(text)).toBe(expected);
});

test.each([
  ['a proxy says it', '10.0.0.1', '/quiver', '/quiver'],
  ['seen over IPv6', '::ffff:10.0.0.1', '/quiver/', '/quiver'],
  ['two proxies say it', '10.0.0.1', '/a, /b/', '/a/b'],
  ['a proxy that has nothing in front', '10.0.0.1', '/', ''],
  ['no proxy', '192.0.2.1', '/evil', '/own'],
  ['what is no path', '10.0.0.1', '//evil.example', '/own'],
  ['one part that is no path', '10.0.0.1', '/a, //evil', '/own'],
  ['nothing said', '10.0.0.1', undefined, '/own'],
])('%s', (_title, address, told, expected) => {
  expect(new BasePath({ own: '/own', proxies }).of(from(address, told))).toBe(expected);
});

test('where no proxy is trusted, nobody says another path', () => {
  const path = new BasePath({ own: '', proxies: new NetworkList([]) });
  expect([path.of(from('127.0.0.1', '/evil')), path.dependsOnProxy]).toEqual(['', false]);
});

test('a path that comes with BASE_PATH is served as one without', () => {
  const path = new BasePath({ own: '/tools/quiver', proxies });
  expect(path.without(['tools', 'quiver', 'v1', 'me'])).toEqual(['v1', 'me']);
  expect(path.without(['tools', 'quiver'])).toEqual(['']);
  expect(path.without(['tools', 'quiver', ''])).toEqual(['']);
  expect(path.without(['tools'])).toEqual(['tools']);
  expect(path.without(['tools', 'quiverx'])).toEqual(['tools', 'quiverx']);
  expect(path.without(['v1', 'tools', 'quiver'])).toEqual(['v1', 'tools', 'quiver']);
  expect(new BasePath({ own: '', proxies }).without(['', 'v1'])).toEqual(['', 'v1']);
});
