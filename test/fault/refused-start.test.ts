import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/** Environments in which the service can't start: one line that says why, and no harm to the process that runs. */

let running: EmbeddedProcess;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-refused-'));
  writeFileSync(join(folder, 'file'), '');
  running = new EmbeddedProcess();
  await running.start();
});

afterAll(async () => {
  await running.destroy();
  rmSync(folder, { recursive: true });
});

async function refusal(options: { dataDir: string; environment?: Record<string, string> }): Promise<string> {
  const server = new EmbeddedProcess(options);
  try {
    await expect(server.start()).rejects.toThrow('the process ended at start');
    return server.output;
  } finally {
    await server.kill();
  }
}

test.each<[string, () => { dataDir: string; environment?: Record<string, string> }, RegExp]>([
  ['a data folder that is a file', () => ({ dataDir: join(folder, 'file') }), /data folder .*file/],
  ['a data folder below a file', () => ({ dataDir: join(folder, 'file', 'data') }), /data folder .*file/],
  ['the data folder of a running process', () => ({ dataDir: running.dataDir }), /in use by another process/],
  [
    'a port in use',
    () => ({ dataDir: join(folder, 'a'), environment: { PORT: String(running.port) } }),
    /\(PORT\).*EADDRINUSE/,
  ],
])('%s stops the start with one line', async (_title, options, line) => {
  const { dataDir, environment } = options();
  if (environment !== undefined) mkdirSync(dataDir, { mode: 0o700 });
  expect((await refusal({ dataDir, environment })).trimEnd()).toMatch(new RegExp(`^[^\\n]*${line.source}[^\\n]*$`));
  expect((await running.call('GET', '/v1/health')).status).toBe('success');
});

test('an operations port that was asked for and is in use stops the start with one line', async () => {
  const output = await new Promise<string>((done, fail) => {
    const env = {
      ...process.env,
      PORT: '0',
      HOST: '127.0.0.1',
      OPS_PORT: String(running.opsPort),
      DATA_DIR: join(folder, 'b'),
      EMBEDDING_MODEL: 'builtin',
    };
    execFile(
      process.execPath,
      [join(__dirname, '../../scripts/quiver.cjs'), 'embedded'],
      { env },
      (error, _stdout, stderr) => (error === null ? fail(new Error('it started')) : done(stderr)),
    );
  });
  expect(output.trimEnd()).toMatch(/^[^\n]*\(OPS_PORT\)[^\n]*EADDRINUSE[^\n]*$/);
});
