// Builds the package of the TypeScript client into clients/typescript/dist: each source as an ES module and as
// CommonJS, with its declarations beside it, and one file for browsers.
//
//   node scripts/make/build-client.mjs [FOLDER]    into another folder
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const CLIENT = join(ROOT, 'clients', 'typescript');

/** What Node 18 and browsers of the last three years run. */
const TARGET = 'es2022';

/** The two kinds of modules, each in a folder that says its kind. */
const KINDS = /** @type {const} */ ([
  { folder: 'esm', format: 'esm', type: 'module' },
  { folder: 'cjs', format: 'cjs', type: 'commonjs' },
]);

/** Builds into `dist`, which is emptied before. Rejects when a source is wrong. */
export async function buildClient(dist = join(CLIENT, 'dist')) {
  const { build, transform } = await import('esbuild');
  rmSync(dist, { recursive: true, force: true });
  const sources = join(CLIENT, 'src');
  const types = join(dist, 'types');
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', CLIENT, '--outDir', types],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stdout);
  for (const { folder, format, type } of KINDS) {
    for (const file of filesUnder(sources)) {
      const { code } = await transform(readFileSync(join(sources, file), 'utf8'), {
        loader: 'ts',
        format,
        target: TARGET,
        sourcefile: file,
      });
      write(join(dist, folder, file.replace(/\.ts$/, '.js')), type === 'module' ? withEndings(code) : code);
    }
    for (const file of filesUnder(types)) {
      const text = readFileSync(join(types, file), 'utf8');
      write(join(dist, folder, file), type === 'module' ? withEndings(text) : text);
    }
    write(join(dist, folder, 'package.json'), `{ "type": "${type}" }\n`);
  }
  rmSync(types, { recursive: true });
  await build({
    entryPoints: [join(sources, 'index.ts')],
    outfile: join(dist, 'quiver-client.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: TARGET,
    minify: true,
    logLevel: 'error',
  });
}

/**
 * ES modules name files with their endings.
 * @param {string} code
 */
function withEndings(code) {
  return code.replaceAll(/((?:from|import)\s*\(?\s*["'])(\.\.?\/[^"']+)(["'])/g, '$1$2.js$3');
}

/**
 * Paths from `folder`.
 * @param {string} folder
 */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * @param {string} file
 * @param {string} text
 */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await buildClient(process.argv[2]);
