import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';

/**
 * What `npm pack` makes of this tree. Installing it builds the addons, which takes minutes: `npm run test:package`
 * does.
 */

const root = resolve(__dirname, '../..');
const run = promisify(execFile);
const installTest = process.env.QUIVER_PACKAGE_TEST === '1' ? test : test.skip;

test('holds built code, sources of the native parts, protocols and the command; no tests and nothing that was built here', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: root, maxBuffer: 1 << 24 });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = new Set(files.map(({ path }) => path));
  const needed = [
    'dist/programs/embedded.js',
    'dist/programs/http-thread.js',
    'dist/cli/main.js',
    'dist/clients/typescript/src/client.js',
    'dist/ui/index.html',
  ];
  const sources = [
    'node/engine/native/addon.cc',
    'node/engine/native/common/arguments.h',
    'node/engine/kv/native/addon.cc',
    'coordinator/api/native/addon.cc',
    'proto/etcd/rpc.proto',
    'scripts/quiver.cjs',
    'scripts/setup.mjs',
    'scripts/try-service.cjs',
    'LICENSE',
    'README.md',
  ];
  expect(needed.filter((path) => !paths.has(path))).toEqual([]);
  expect(sources.filter((path) => !paths.has(path))).toEqual([]);
  expect([...paths].filter((path) => /^test\/|\.node$|\.o$|\/build\//.test(path))).toEqual([]);
});

installTest(
  'serves and searches from an empty project by npx',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-package-'));
    try {
      const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
        cwd: root,
        maxBuffer: 1 << 24,
      });
      const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
      writeFileSync(join(folder, 'package.json'), '{"name": "empty", "private": true}');
      await run(
        'npm',
        ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`],
        { cwd: folder },
      );
      const [port, opsPort] = await freePorts(2);
      const environment = {
        ...process.env,
        PORT: String(port),
        OPS_PORT: String(opsPort),
        API_KEY: 'package-key',
        EMBEDDING_MODEL: 'builtin',
        QUIVER_URL: `http://127.0.0.1:${port}`,
        QUIVER_API_KEY: 'package-key',
      };
      // Without npx itself, which would leave the service behind when it is ended.
      const server = spawn(join(folder, 'node_modules/.bin/quiver'), ['embedded'], {
        cwd: folder,
        env: environment,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      try {
        await eventually(
          'the service is ready',
          async () =>
            fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
              ({ status }) => status === 200,
              () => false,
            ),
          1_500_000,
        );
        writeFileSync(join(folder, 'rows.csv'), 'id,vector,colour\na,"[1,0]",red\nb,"[0,1]",blue\n');
        const quiver = async (...words: string[]): Promise<string> =>
          (await run('npx', ['quiver', ...words], { cwd: folder, env: environment })).stdout;
        await quiver('import', 'rows.csv', '--into', 'rows', '--create');
        expect(await quiver('search', 'rows', '--vector', '[0.1,0.9]', '-k', '1')).toMatch(
          /1\s+0\.9939\s+b\s+\{"colour":"blue"\}/,
        );
      } finally {
        server.kill();
        await new Promise((done) => server.once('exit', done));
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  1_800_000,
);
