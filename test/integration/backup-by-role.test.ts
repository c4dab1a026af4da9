import { CredentialServer } from '../support/servers/credential-server';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { TinyS3 } from '../support/servers/tiny-s3';

/**
 * A process as it is run, which has no key for its backup target and finds a role: as of a pod with EKS Pod Identity.
 */

let tiny: TinyS3;
let credentials: CredentialServer;
let server: EmbeddedProcess;

beforeAll(async () => {
  tiny = await TinyS3.start();
  credentials = await CredentialServer.start();
  server = new EmbeddedProcess({
    environment: {
      BACKUP_TARGET: 's3://backups/by-role',
      BACKUP_S3_ENDPOINT: tiny.endpoint,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${credentials.url}/pod`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: credentials.containerToken,
    },
  });
  await server.start();
});

afterAll(async () => {
  await server?.destroy();
  await credentials.close();
  await tiny.close();
});

test('backs up and restores, with credentials that it got and kept', async () => {
  await server.data('POST', '/v1/collections', { name: 'notes', dim: 2 });
  await server.data('POST', '/v1/collections/notes/upsert', { external_id: 'a', vector: [1, 2], metadata: { n: 1 } });
  const { id } = await server.data('POST', '/v1/admin/backups', {});
  await eventually(
    'it is backed up',
    async () => (await server.data('GET', `/v1/admin/backups/${id}`)).state === 'done',
  );
  await server.data('POST', '/v1/admin/restore', { backup: id, rename: { notes: 'again' } });
  await eventually(
    'it is there again',
    async () => (await server.call('GET', '/v1/collections/again/vectors/a')).status === 'success',
  );
  expect((await server.data('GET', '/v1/collections/again/vectors/a')).metadata).toEqual({ n: 1 });
  // The part that drives backups and the shards ask each for itself, and then keep what they got.
  expect(tiny.requests.length).toBeGreaterThan(10);
  expect(credentials.given).toBeLessThanOrEqual(2);
  for (const { headers } of tiny.requests) expect(headers['x-amz-security-token']).toMatch(/^session-[12]$/);
  expect(server.output).not.toContain('session-1');
});
