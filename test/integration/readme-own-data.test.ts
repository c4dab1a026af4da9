import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePorts } from '../support/servers/free-ports';

/** The README's way from nothing to a search over one's own Parquet file, run as it stands. */

const root = resolve(__dirname, '../..');
const [, block] = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(
  (match) => match[1],
);
const shellTest = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

shellTest('five commands of the README lead to a search over a Parquet file', async () => {
  expect(block.trim().split('\n').length).toBeLessThanOrEqual(5);
  const home = mkdtempSync(join(tmpdir(), 'quiver-own-data-'));
  execFileSync(process.execPath, [
    join(root, 'test/support/values/made-tables.mjs'),
    'parquet',
    join(home, 'books.parquet'),
    '40',
    '16',
  ]);
  const [port, opsPort] = await freePorts(2);
  const environment = {
    PORT: String(port),
    OPS_PORT: String(opsPort),
    QUIVER_URL: `http://localhost:${port}`,
    DATA_DIR: join(home, 'data'),
    EMBEDDING_MODEL: 'builtin',
    LOG_LEVEL: 'warn',
  };
  // A group of its own, so that the service can be ended with its shell.
  const shell = spawn('bash', ['-e'], {
    cwd: root,
    detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: home, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  try {
    let output = '';
    let messages = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text));
    shell.stdin.end(block);
    const code = await new Promise((done) => shell.once('exit', done));
    expect({ code, messages }).toEqual({ code: 0, messages: expect.stringContaining('stored 40 rows in "books"') });
    expect(output).toMatch(/# +score +id +metadata\n( *\d+ +-?\d.*\n){10}/);
  } finally {
    try {
      process.kill(-shell.pid!, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
});
