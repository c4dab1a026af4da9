import type { IncomingMessage } from 'node:http';
import { clientAddress, limitedAddress } from '../../../../../coordinator/api/connections/client-address';
import { NetworkList } from '../../../../../shared/base/config/network-list';

const from = (remoteAddress: string | undefined, forwarded?: string | string[]): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;
const proxies = new NetworkList(['10.0.0.0/8', '::1']);

test.each([
  ['without a header', '10.0.0.1', undefined, '10.0.0.1'],
  ['the last that is no proxy', '10.0.0.1', '192.0.2.9, 192.0.2.1, 10.0.0.2', '192.0.2.1'],
  ['from no proxy, the header counts for nothing', '192.0.2.5', '192.0.2.1', '192.0.2.5'],
  ['proxies alone', '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['with ports', '::1', '[2001:db8::1]:443, 10.0.0.2:80', '2001:db8::1'],
  ['what is no address ends the list', '10.0.0.1', '192.0.2.1, unknown, 10.0.0.2', '10.0.0.2'],
  ['an empty header', '10.0.0.1', '', '10.0.0.1'],
  ['a proxy that is seen over IPv6', '::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1'],
  ['several headers', '10.0.0.1', ['192.0.2.7', '192.0.2.8'], '192.0.2.8'],
])('%s', (_title, remote, forwarded, expected) => {
  expect(clientAddress(from(remote, forwarded), proxies)).toBe(expected);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:0:1::7', '2001:db8:0:1::/64'],
  ['2001:DB8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:0db8::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1:2::5:6:7:192.0.2.1', '1:2:0:5::/64'],
  ['unknown', 'unknown'],
])('strangers from %s are counted as %s', (address, subject) => {
  expect(limitedAddress(address)).toBe(subject);
});

test('where no proxy is trusted, the connection decides', () => {
  expect(clientAddress(from('10.0.0.1', '192.0.2.1'), new NetworkList([]))).toBe('10.0.0.1');
  expect(clientAddress(from('::ffff:192.0.2.1'), new NetworkList([]))).toBe('192.0.2.1');
  expect(clientAddress(from(undefined), proxies)).toBe('unknown');
});
