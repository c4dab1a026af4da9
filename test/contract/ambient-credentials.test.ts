import { TEST_SEALS } from '../support/cluster/test-seals';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AmbientCredentials } from '../../shared/backup-store/ambient-credentials';
import { S3Target } from '../../shared/backup-store/s3-target';
import { eventually } from '../support/eventually';
import { CredentialServer } from '../support/servers/credential-server';
import { S3_KEY, TinyS3 } from '../support/servers/tiny-s3';

/**
 * A target in S3 without a key in the configuration, which finds one as programs for AWS do: each way against a server
 * on this machine that answers as the cloud's does, and a store that checks signatures.
 */

let folder: string;
let tiny: TinyS3;
let server: CredentialServer;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-credentials-'));
  tiny = await TinyS3.start();
  server = await CredentialServer.start();
});

afterAll(async () => {
  await server.close();
  await tiny.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  environment = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  // Nothing of whoever runs the test.
  process.env.AWS_SHARED_CREDENTIALS_FILE = join(folder, 'none');
  process.env.AWS_CONFIG_FILE = join(folder, 'none');
  process.env.AWS_EC2_METADATA_DISABLED = 'true';
  Object.assign(server, { given: 0, fault: null, refusal: 'AccessDenied', lastsMs: 3_600_000 });
  server.requests.length = 0;
  tiny.requests.length = 0;
  tiny.fault = () => null;
});

afterEach(() => {
  process.env = environment;
});

const target = (): S3Target =>
  new S3Target(
    's3://backups',
    {
      endpoint: tiny.endpoint,
      region: 'eu-central-1',
      isPathStyle: true,
      accessKeyId: undefined,
      secretAccessKey: undefined,
      sessionToken: undefined,
      credentialsFile: '',
      encryption: '',
    },
    TEST_SEALS,
  );

/** The session tokens that the store was shown, in order. */
const shown = (): (string | undefined)[] =>
  tiny.requests.map(({ headers }) => headers['x-amz-security-token'] as string | undefined);

async function mustWork(store = target()): Promise<S3Target> {
  await store.put('a', Buffer.from('content'));
  expect((await store.get('a'))?.toString()).toBe('content');
  return store;
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('credentials are found', () => {
  test('in the environment', async () => {
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: S3_KEY.id,
      AWS_SECRET_ACCESS_KEY: S3_KEY.secret,
      AWS_SESSION_TOKEN: 'of-the-environment',
    });
    await mustWork();
    expect(shown()).toEqual(['of-the-environment', 'of-the-environment']);
  });

  test('in shared files, by the profile that is named', async () => {
    process.env.AWS_SHARED_CREDENTIALS_FILE = file(
      'shared',
      `[default]\naws_access_key_id = other\naws_secret_access_key = other\n[backups]\naws_access_key_id = ${S3_KEY.id}\naws_secret_access_key = ${S3_KEY.secret}\n`,
    );
    process.env.AWS_PROFILE = 'backups';
    await mustWork();
    expect(shown()).toEqual([undefined, undefined]);
  });

  test('for a web identity, as of a ServiceAccount with a role (IRSA)', async () => {
    const role = 'arn:aws:iam::123456789012:role/backups';
    const token = file('identity', server.identityToken);
    Object.assign(process.env, {
      AWS_ROLE_ARN: role,
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ENDPOINT_URL_STS: server.url,
    });
    await mustWork();
    expect(shown()).toEqual(['session-1', 'session-1']);
    expect(server.requests).toHaveLength(1);
    expect(new URLSearchParams(server.requests[0].body).get('RoleArn')).toBe(role);
    // The token of a pod is replaced while it runs; one that is refused is told as that, at once.
    writeFileSync(token, 'another');
    await expect(target().get('a')).rejects.toMatchObject({
      kind: 'storage_failed',
      message: 'credentials for the backup target were refused: AccessDenied',
    });
    server.refusal = 'Throttling';
    await expect(new AmbientCredentials('eu-central-1').current()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('at the endpoint of a container, as of ECS and of EKS Pod Identity', async () => {
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/pod`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file('pod', server.containerToken),
    });
    await mustWork();
    expect(shown()).toEqual(['session-1', 'session-1']);
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/pod', server.containerToken],
    ]);
  });

  test('in the metadata of an EC2 instance, by a session (IMDSv2)', async () => {
    delete process.env.AWS_EC2_METADATA_DISABLED;
    process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = server.url;
    await mustWork();
    expect(shown()).toEqual(['session-1', 'session-1']);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/role-of-the-instance',
    ]);
  });

  test('not from who takes the question and never answers, nor from a program that does not end: that is told, and asked again later', async () => {
    // One of its own: what was asked without an answer is asked again by and by.
    const silent = await CredentialServer.start();
    silent.isSilent = true;
    const token = file('silent', silent.identityToken);
    Object.assign(process.env, {
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/backups',
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ENDPOINT_URL_STS: silent.url,
    });
    const waiting = new AmbientCredentials('eu-central-1', 1_000);
    const late = { kind: 'unavailable', message: 'credentials for the backup target could not be had at present' };
    await Promise.all([
      expect(waiting.current()).rejects.toMatchObject(late),
      expect(waiting.renewed()).rejects.toMatchObject(late),
    ]);
    silent.isSilent = false;
    await eventually(
      'they are had',
      async () => (await waiting.current().catch(() => null))?.accessKeyId === S3_KEY.id,
    );
    await silent.close();

    for (const name of ['AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_ENDPOINT_URL_STS'])
      delete process.env[name];
    const ended = join(folder, 'ended');
    process.env.AWS_CONFIG_FILE = file(
      'config',
      `[default]\ncredential_process = sh -c 'while [ ! -e ${ended} ]; do sleep 0.1; done; cat ${ended}'\n`,
    );
    await expect(new AmbientCredentials('eu-central-1', 1_000).current()).rejects.toMatchObject(late);
    // It ends with some, so that nobody goes on to ask where the next test says.
    renameSync(
      file('ending', JSON.stringify({ Version: 1, AccessKeyId: S3_KEY.id, SecretAccessKey: S3_KEY.secret })),
      ended,
    );
  });

  test('nowhere: that is told at once, with what may be done', async () => {
    await expect(target().get('a')).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringMatching(/there are no credentials for the backup target: set BACKUP_S3_ACCESS_KEY_ID/),
    });
    expect(tiny.requests).toEqual([]);
  });
});

describe('temporary credentials', () => {
  beforeEach(() => {
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/pod`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: server.containerToken,
    });
  });

  test('are kept while they last, and replaced before they end, without a request that fails', async () => {
    const store = await mustWork();
    await mustWork(store);
    expect(server.given).toBe(1);
    // Its last minutes: it still works while others are asked for.
    server.lastsMs = 60_000;
    const ending = await mustWork(target());
    await eventually('others take their place', async () => {
      await ending.get('a');
      return new Set(shown()).size >= 4;
    });
    expect(server.given).toBeGreaterThanOrEqual(3);
  });

  test('that the store refuses are replaced at once, and the request is made again', async () => {
    const store = await mustWork();
    tiny.fault = ({ headers }) =>
      headers['x-amz-security-token'] === 'session-1' ? { status: 400, code: 'ExpiredToken' } : null;
    tiny.requests.length = 0;
    await mustWork(store);
    expect(shown()).toEqual(['session-1', 'session-2', 'session-2']);
    tiny.fault = () => ({ status: 403, code: 'AccessDenied' });
    tiny.requests.length = 0;
    await expect(store.get('a')).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringContaining('AccessDenied'),
    });
    // With others, once.
    expect(shown()).toEqual(['session-2', 'session-3']);
  });

  test('that have not ended go on while nobody gives others', async () => {
    server.lastsMs = 60_000;
    const store = await mustWork();
    server.fault = 500;
    for (let i = 0; i < 5; i += 1) await mustWork(store);
    const before = server.given;
    expect(before).toBeLessThanOrEqual(3);
    server.fault = null;
    // Nobody is asked unless a request needs credentials.
    await eventually('others are had again', async () => {
      await store.get('a');
      return server.given > before;
    });
  });
});
