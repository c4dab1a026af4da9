import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority, replaceFile } from '../support/cluster/certificate-authority';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { callByHttp2, firstSession, handshake, SecuredClient } from '../support/http/secured-client';

/** The API port with TLS, and what is replaced while the process runs, by one thread and by several. */

const SECRET = 'first-secret-of-key-1';

describe.each(['1', '2'])('an embedded process with TLS that serves on %s threads', (threads) => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-api-tls-'));
  const file = (name: string): string => join(folder, name);
  const authority = new CertificateAuthority('first authority');
  const server = new EmbeddedProcess({
    environment: {
      HTTP_THREADS: threads,
      API_TLS_CERT_FILE: file('api.pem'),
      API_TLS_KEY_FILE: file('api.key'),
      API_KEY: '',
      API_KEY_FILE: file('api-key'),
      LOG_LEVEL: 'info',
    },
  });
  const clients: SecuredClient[] = [];
  const client = (key = SECRET): SecuredClient => {
    const made = new SecuredClient({ port: server.port, ca: authority.pem, key });
    clients.push(made);
    return made;
  };
  const give = ({ cert, key }: { cert: string; key: string }): void => {
    replaceFile(file('api.key'), key);
    replaceFile(file('api.pem'), cert);
  };
  const look = (): boolean => process.kill(server.pid, 'SIGHUP');

  beforeAll(async () => {
    give(authority.issue('first'));
    replaceFile(file('api-key'), `${SECRET}\n`);
    await server.start();
  });
  afterAll(async () => {
    for (const each of clients) each.close();
    await server.destroy();
    authority.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  test('answers over HTTP/1.1 and HTTP/2, small and large, and nobody who speaks no TLS', async () => {
    const calls = Array.from({ length: 4 }, () => client());
    expect((await calls[0].call('POST', '/v1/collections', { name: 'c', dim: 64 })).json.status).toBe('success');
    const items = Array.from({ length: 500 }, (_, i) => ({
      external_id: `id-${i}`,
      vector: Array.from({ length: 64 }, (_value, at) => Math.sin(i * at + at)),
      metadata: { i },
    }));
    expect((await calls[1].call('POST', '/v1/collections/c/bulk_upsert', { items })).json.data.results).toHaveLength(
      500,
    );
    const search = { vector: items[3].vector, k: 1 };
    for (const each of calls)
      expect((await each.call('POST', '/v1/collections/c/search', search)).json.data.results).toMatchObject([
        { external_id: 'id-3' },
      ]);
    const exported = (await calls[2].call('GET', '/v1/collections/c/export')).json.data;
    expect(exported.count).toBe(500);
    const about = { port: server.port, ca: authority.pem, key: SECRET };
    expect(
      JSON.parse(await callByHttp2({ ...about, method: 'POST', path: '/v1/collections/c/search', body: search })).data
        .results,
    ).toMatchObject([{ external_id: 'id-3' }]);
    expect(JSON.parse(await callByHttp2({ ...about, method: 'GET', path: '/v1/collections/c/export' })).data).toEqual(
      exported,
    );
    // Browsers choose HTTP/2, which the explorer does not know; this makes them ask again.
    await expect(callByHttp2({ ...about, method: 'GET', path: '/docs/' })).rejects.toThrow('NGHTTP2_HTTP_1_1_REQUIRED');
    expect((await calls[0].call('GET', '/docs/')).text).toContain('swagger-ui');

    const plain = connect(server.port, '127.0.0.1');
    let heard = '';
    plain.on('data', (bytes) => (heard += bytes.toString('latin1')));
    plain.on('error', () => undefined);
    plain.write('GET /v1/health HTTP/1.1\r\nhost: a\r\n\r\n');
    await new Promise((done) => plain.once('close', done));
    expect(heard).not.toContain('HTTP/');
  });

  test('lets clients take their session up again, whichever thread they meet', async () => {
    const about = { port: server.port, ca: authority.pem };
    const session = await firstSession(about);
    for (let i = 0; i < 4; i += 1) expect((await handshake({ ...about, session })).isReused).toBe(true);
  });

  test('takes a new certificate without a restart, and keeps the old one while the new one is no good', async () => {
    const kept = client();
    expect((await kept.call('GET', '/v1/health')).subject).toBe('first');
    // The key of another certificate.
    replaceFile(file('api.key'), authority.issue('other').key);
    look();
    await eventually('it says so', () => server.output.includes("certificate can't be used"));
    expect((await handshake({ port: server.port, ca: authority.pem })).subject).toBe('first');
    give(authority.issue('second'));
    look();
    await eventually('every thread shows it', async () => {
      const seen = await Promise.all(
        Array.from({ length: 4 }, () => handshake({ port: server.port, ca: authority.pem })),
      );
      return seen.every(({ subject }) => subject === 'second');
    });
    // The connection of before goes on.
    expect(await kept.call('GET', '/v1/health')).toMatchObject({ json: { status: 'success' }, subject: 'first' });
  });

  test('takes a new secret of key 1 from its file', async () => {
    replaceFile(file('api-key'), 'second-secret-of-key-1');
    look();
    const [now, before] = [client('second-secret-of-key-1'), client()];
    await eventually('it is in force', async () => (await now.call('GET', '/v1/health')).json.status === 'success');
    expect((await before.call('GET', '/v1/health')).json.error.code).toBe(401);
    replaceFile(file('api-key'), 'short');
    look();
    await eventually('a bad one is not taken', () => server.output.includes('API_KEY_FILE could not be used'));
    expect((await now.call('GET', '/v1/health')).json.status).toBe('success');
    for (const secret of [SECRET, 'second-secret-of-key-1']) expect(server.output).not.toContain(secret);
  });

  test('ends in order while connections are open', async () => {
    await client('second-secret-of-key-1').call('GET', '/v1/health');
    expect(await server.stop()).toBe(0);
  });
});
