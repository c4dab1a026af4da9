import { execFile, spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The commands of an image or a checkout that is set up, as processes. */

const scripts = resolve(__dirname, '../../scripts');

function quiver(
  words: string[],
  environment: Record<string, string> = {},
): { code: number | null; output: string; errors: string } {
  const result = spawnSync(process.execPath, [join(scripts, 'quiver.cjs'), ...words], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
  return { code: result.status, output: result.stdout, errors: result.stderr };
}

describe('quiver check-config', () => {
  test('prints what a role would run with and ends with 0', () => {
    const { code, output, errors } = quiver(['check-config', 'node'], {
      CLUSTER_SECRET: 'hush-hush-hush-hush',
      RPC_PORT: '7200',
    });
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toMatch(/^RPC_PORT +7200 +environment$/m);
    expect(output).toMatch(/^OPS_PORT +9091 +default$/m);
    expect(output).not.toContain('hush');
  });

  test('means the embedded form when no role is named', () => {
    expect(quiver(['check-config']).output).toBe(quiver(['check-config', 'embedded']).output);
  });

  test.each(['embedded', 'coordinator', 'node'])(
    'refuses what %s would refuse at its start, in the same line',
    (role) => {
      const environment = { CLUSTER_SECRET: 'hush-hush-hush-hush', OPS_PORT: 'many' };
      const refusal = {
        code: 1,
        output: '',
        errors: 'OPS_PORT="many" is not valid: expected an integer from 0 to 65535\n',
      };
      expect(quiver(['check-config', role], environment)).toEqual(refusal);
      expect(quiver([role], environment)).toEqual(refusal);
    },
  );

  test.each([[['check-config', 'broker']], [['check-config', 'node', 'node']], [['node', 'node']], [[]]])(
    '%j is answered with the usage and 2',
    (words) => {
      const { code, output, errors } = quiver(words);
      expect({ code, output }).toEqual({ code: 2, output: '' });
      expect(errors).toMatch(/^usage: quiver /);
    },
  );

  test.each([[['constructor']], [['serch']]])('%j is no command: 2', (words) => {
    const { code, output, errors } = quiver(words);
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(errors).toMatch(/^error: unknown command '/);
  });
});

describe('quiver demo', () => {
  test('says what it needs and where nobody answers', async () => {
    expect(quiver(['demo', 'http://127.0.0.1:1/'], { API_KEY: 'some-key' })).toMatchObject({
      code: 4,
      output: '',
      errors: expect.stringContaining('http://127.0.0.1:1'),
    });
    expect(quiver(['demo', 'http://127.0.0.1:1/', '--url', 'http://127.0.0.1:2'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('say the address once'),
    });
  });

  test('asks the service and tells what it answered', async () => {
    const asked: unknown[] = [];
    const answers = [
      {
        status: 'success',
        data: { collection: 'demo', count: 7, loaded: true, dim: 384, embedding_model: 'builtin' },
        error: null,
      },
      { status: 'error', data: null, error: { code: 403, message: 'not with this key' } },
    ];
    const server = createServer((request, response) => {
      asked.push([request.method, request.url, request.headers['x-api-key']]);
      response.end(JSON.stringify(answers.shift()));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const command = (words: string[], env: Record<string, string>): Promise<{ stdout: string }> =>
      promisify(execFile)(process.execPath, [join(scripts, 'quiver.cjs'), 'demo', ...words], { env });
    expect((await command([url], { API_KEY: 'some-key' })).stdout).toBe(
      `Stored 7 texts in the collection "demo" (builtin, 384 dimensions).\nLook at them: http://127.0.0.1:${port}/ui\n`,
    );
    await expect(
      command([], { QUIVER_URL: url, QUIVER_API_KEY: 'another-key', API_KEY: 'some-key', PORT: '1' }),
    ).rejects.toMatchObject({ code: 6, stderr: 'not with this key\n' });
    expect(asked).toEqual([
      ['POST', '/v1/demo', 'some-key'],
      ['POST', '/v1/demo', 'another-key'],
    ]);
    await new Promise((done) => server.close(done));
  });
});

describe('the health check', () => {
  let server: Server;
  let port: number;
  let isReady = true;

  beforeAll(async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url === '/livez' || (request.url === '/readyz' && isReady) ? 200 : 503;
      response.end('recovering');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((done) => server.close(done)));

  async function check(
    words: string[],
    environment: Record<string, string>,
  ): Promise<{ code: number; output: string }> {
    const ended = promisify(execFile)(process.execPath, [join(scripts, 'healthcheck.cjs'), ...words], {
      env: environment,
    });
    return ended.then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
    );
  }

  test('passes when the operations port answers 200', async () => {
    expect(await check([], { OPS_PORT: String(port) })).toEqual({ code: 0, output: '' });
    expect(await check(['readyz'], { OPS_PORT: String(port), HOST: '127.0.0.1' })).toEqual({ code: 0, output: '' });
  });

  test('fails with what the process said when it is alive but not ready', async () => {
    isReady = false;
    expect(await check(['readyz'], { OPS_PORT: String(port) })).toEqual({
      code: 1,
      output: `port ${port}: 503 recovering\n`,
    });
    expect(await check(['livez'], { OPS_PORT: String(port) })).toEqual({ code: 0, output: '' });
  });

  test('fails in one line when nothing listens, and refuses another path', async () => {
    const { code, output } = await check([], { OPS_PORT: '1' });
    expect({ code, lines: output.split('\n').length }).toEqual({ code: 1, lines: 2 });
    expect((await check(['metrics'], { OPS_PORT: String(port) })).code).toBe(2);
  });
});
