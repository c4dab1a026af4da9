import { listenHost, reachableHost, withPort } from '../../../../../shared/base/process/listen-host';

test('all addresses, unless the system has no IPv6 and nobody asked for it', async () => {
  const [can, cannot] = [async () => true, async () => false];
  expect(await listenHost('::', false, can)).toBe('::');
  expect(await listenHost('::', false, cannot)).toBe('0.0.0.0');
  expect(await listenHost('::', true, cannot)).toBe('::');
  expect(await listenHost('192.0.2.1', true, cannot)).toBe('192.0.2.1');
});

test('this machine decides', async () => {
  expect(['::', '0.0.0.0']).toContain(await listenHost('::', false));
});

test('addresses as URLs have them', () => {
  expect([
    withPort('::', 80),
    withPort('0.0.0.0', 80),
    withPort('host', 1),
    withPort(reachableHost('::'), 2),
    withPort(reachableHost('::1'), 3),
  ]).toEqual(['[::]:80', '0.0.0.0:80', 'host:1', 'localhost:2', '[::1]:3']);
});
