// Builds the page at /ui from coordinator/dashboard into a folder of static files: hashed names under assets/, and beside each
// file that gets smaller by it the same as .gz and .br, so that nothing is compressed while somebody waits.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Where the page is served; its files name each other by it. */
const BASE = '/ui/';

/** Code that runs in a worker, by the name of its address in the sources. */
const WORKERS = { UMAP_WORKER: 'map/umap-worker.ts' };

/** What browsers of the last three years run. */
const TARGET = 'es2022';

/**
 * Builds the page of the checkout at `root` into `folder`, which is emptied before. Rejects when a source is wrong.
 * @param {string} root
 * @param {string} folder
 */
export async function buildDashboard(root, folder) {
  const sources = join(root, 'coordinator', 'dashboard');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'assets'), { recursive: true });
  const favicon = writeAsset(folder, 'favicon.svg', readFileSync(join(sources, 'favicon.svg')));

  const workers = await bundle(sources, folder, Object.values(WORKERS), {});
  const addresses = Object.fromEntries(Object.entries(WORKERS).map(([name, entry]) => [name, JSON.stringify(BASE + workers.entries[entry])]));
  const page = await bundle(sources, folder, ['main.tsx'], addresses);

  const html = readFileSync(join(sources, 'index.html'), 'utf8')
    .replace('{{favicon}}', BASE + favicon)
    .replace('{{font}}', BASE + page.files.find((file) => file.endsWith('.woff2')))
    .replace('{{style}}', BASE + page.styles['main.tsx'])
    .replace('{{script}}', BASE + page.entries['main.tsx'])
    .replace(/\n\s*/g, '\n');
  writeFileSync(join(folder, 'index.html'), html);
  await Promise.all([favicon, ...workers.files, ...page.files, 'index.html'].map((file) => compress(join(folder, file))));
}

/**
 * @param {string} sources
 * @param {string} folder
 * @param {string[]} entries
 * @param {Record<string, string>} define
 */
async function bundle(sources, folder, entries, define) {
  // Not before the packages are installed.
  const { build } = await import('esbuild');
  const { metafile } = await build({
    absWorkingDir: sources,
    entryPoints: entries.map((entry) => `./${entry}`),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: TARGET,
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define,
    loader: { '.woff2': 'file' },
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    assetNames: 'assets/[name]-[hash]',
    publicPath: BASE,
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
  });
  /** @type {{ files: string[], entries: Record<string, string>, styles: Record<string, string> }} */
  const built = { files: [], entries: {}, styles: {} };
  for (const [path, { entryPoint, cssBundle }] of Object.entries(metafile.outputs)) {
    const file = `assets/${basename(path)}`;
    built.files.push(file);
    if (entryPoint === undefined || !file.endsWith('.js')) continue;
    built.entries[entryPoint] = file;
    if (cssBundle !== undefined) built.styles[entryPoint] = `assets/${basename(cssBundle)}`;
  }
  return built;
}

/**
 * Writes a file under a name with its digest; answers the path from `folder`.
 * @param {string} folder
 * @param {string} name
 * @param {Buffer} content
 */
function writeAsset(folder, name, content) {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8).toUpperCase();
  const path = `assets/${name.replace(/\.(\w+)$/, `-${digest}.$1`)}`;
  writeFileSync(join(folder, path), content);
  return path;
}

/** @param {string} file */
async function compress(file) {
  const plain = readFileSync(file);
  const forms = {
    '.gz': await promisify(gzip)(plain, { level: 9 }),
    '.br': await promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
  };
  for (const [ending, form] of Object.entries(forms)) if (form.length < plain.length) writeFileSync(file + ending, form);
}
