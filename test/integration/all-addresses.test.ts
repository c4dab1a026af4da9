import { networkInterfaces } from 'node:os';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/** The default address, over IPv4 and, where the machine has it, IPv6. */

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
const server = new EmbeddedProcess({
  environment: { HOST: '', BAD_KEY_LIMIT_PER_MINUTE: '3', LOG_LEVEL: 'info', AUDIT_LOG: 'stdout' },
});
beforeAll(() => server.start());
afterAll(() => server.destroy());

test('an address of IPv4 is itself, for networks of keys, limits and the audit log', async () => {
  const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
  const inside = dataOf(
    await api.post('/v1/admin/keys', { name: 'inside', role: 'readonly', allowed_networks: ['127.0.0.0/8'] }),
  );
  const outside = dataOf(
    await api.post('/v1/admin/keys', { name: 'outside', role: 'readonly', allowed_networks: ['2001:db8::/32'] }),
  );
  dataOf(await api.get('/v1/me', { key: inside.key }));
  expect(errorOf(await api.get('/v1/me', { key: outside.key }), 403)).toContain('from 127.0.0.1');
  expect(server.output).toContain('"address":"127.0.0.1"');
  expect(server.output).not.toContain('::ffff:');
  expect(server.output).toContain(`Quiver serves on http://localhost:${server.port}  `);
});

(hasIpv6 ? test : test.skip)('IPv6 reaches every port, and its strangers are counted by themselves', async () => {
  for (let i = 0; i < 3; i++)
    expect(await (await fetch(`http://[::1]:${server.port}/v1/me`)).json()).toMatchObject({ error: { code: 401 } });
  expect(await (await fetch(`http://[::1]:${server.port}/v1/me`)).json()).toMatchObject({
    error: { code: 429, message: expect.stringContaining('BAD_KEY_LIMIT_PER_MINUTE') },
  });
  expect((await fetch(`http://[::1]:${server.opsPort}/readyz`)).status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${server.port}/v1/me`)).json()).toMatchObject({ error: { code: 401 } });
});
