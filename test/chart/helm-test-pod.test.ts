import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { CHART } from '../support/chart/chart-files';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/** The script that `helm test` runs in a pod, run here against a service, with the environment of the pod alone. */

async function runScript(environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [join(CHART, 'files/test-search.cjs')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describe('helm test', () => {
  const service = new EmbeddedProcess();
  beforeAll(() => service.start());
  afterAll(() => service.destroy());

  test('passes against a service that works, and leaves nothing behind', async () => {
    const { code, output } = await runScript({ QUIVER: service.baseUrl, API_KEY: service.apiKey });
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/^helm-test-[0-9a-f-]+ was made, written, searched and deleted\n$/),
    });
    expect((await service.data('GET', '/v1/collections')).collections).toEqual([]);
  });

  test('fails with a wrong key, and says so', async () => {
    const { code, output } = await runScript({ QUIVER: service.baseUrl, API_KEY: 'wrong' });
    expect(code).toBe(1);
    expect(output).toContain('POST /v1/collections: 401');
  });

  test('fails when nobody answers, and says so', async () => {
    const { code, output } = await runScript({ QUIVER: 'http://127.0.0.1:1', API_KEY: 'any' });
    expect(code).toBe(1);
    expect(output).toMatch(/ECONNREFUSED|bad port|fetch failed/);
  });
});
