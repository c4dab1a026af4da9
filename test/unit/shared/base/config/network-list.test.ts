import { isNetwork, NetworkList, plainAddress } from '../../../../../shared/base/config/network-list';

test.each([
  ['10.0.0.0/8', ['10.1.2.3', '::ffff:10.255.0.1'], ['11.0.0.0', '::10.0.0.1', '::ffff:11.0.0.0']],
  ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
  ['2001:db8::/33', ['2001:db8::1', '2001:db8:7fff::'], ['2001:db8:8000::', '10.0.0.1']],
  ['::1', ['::1'], ['::2', '127.0.0.1']],
  ['fe80::/10', ['fe80::1%eth0'], ['fec0::1']],
  ['0.0.0.0/0', ['1.2.3.4', '255.255.255.255'], ['::1', 'unknown', '']],
])('%s holds its addresses alone', (network, inside, outside) => {
  const list = new NetworkList([network]);
  expect(inside.filter((address) => !list.has(address))).toEqual([]);
  expect(outside.filter((address) => list.has(address))).toEqual([]);
});

test.each([
  '',
  '10.0.0.0/33',
  '10.0.0/8',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0.0/-1',
  'host',
  '::1/129',
  'fe80::1%eth0',
  '10.0.0.0/8 ',
])('%j is no network', (text) => {
  expect(isNetwork(text)).toBe(false);
  expect(() => new NetworkList(['10.0.0.0/8', text])).toThrow(JSON.stringify(text));
});

test('an address is shown in its plain form', () => {
  expect(['::ffff:192.0.2.1', 'fe80::1%eth0', '::1', '192.0.2.1', 'unknown'].map(plainAddress)).toEqual([
    '192.0.2.1',
    'fe80::1',
    '::1',
    '192.0.2.1',
    null,
  ]);
});
