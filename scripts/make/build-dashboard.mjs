// Builds the page at /ui from dashboard into a folder of static files: hashed names under assets/, and beside each
// file that gets smaller by it the same as .gz and .br, so that nothing is compressed while somebody waits.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Where the page is served, unless a proxy has it elsewhere. Its files name each other by where they are. */
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
  const sources = join(root, 'dashboard');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'assets'), { recursive: true });
  const favicon = writeAsset(folder, 'favicon.svg', readFileSync(join(sources, 'favicon.svg')));

  const workers = await bundle(sources, folder, Object.values(WORKERS), {});
  const addresses = Object.fromEntries(
    Object.entries(WORKERS).map(([name, entry]) => [name, JSON.stringify(`./${basename(workers.entries[entry])}`)]),
  );
  const page = await bundle(sources, folder, ['main.tsx'], addresses);

  const html = readFileSync(join(sources, 'index.html'), 'utf8')
    .replace('{{favicon}}', BASE + favicon)
    .replace('{{font}}', BASE + page.files.find((file) => file.endsWith('.woff2')))
    .replace('{{style}}', BASE + page.styles['main.tsx'])
    .replace('{{script}}', BASE + page.entries['main.tsx'])
    .replace(/\n\s*/g, '\n');
  writeFileSync(join(folder, 'index.html'), html);
  writeFileSync(join(folder, 'licenses.txt'), licensesOf(root, [...workers.packages, ...page.packages]));
  await Promise.all(
    [favicon, 'licenses.txt', ...workers.files, ...page.files, 'index.html'].map((file) =>
      compress(join(folder, file)),
    ),
  );
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
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
  });
  const packages = Object.keys(metafile.inputs).flatMap(
    (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  /**
   * @type {{ files: string[], entries: Record<string, string>, styles: Record<string, string>, packages: string[] }}
   */
  const built = { files: [], entries: {}, styles: {}, packages };
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
 * The licences of what was built in, as they ask for.
 * @param {string} root
 * @param {string[]} packages
 */
function licensesOf(root, packages) {
  const texts = [...new Set(packages)].sort().map((name) => {
    const folder = join(root, 'node_modules', name);
    const { version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = existsSync(folder) ? readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry)) : undefined;
    const text =
      file === undefined
        ? `${license}, ${author?.name ?? author ?? 'its authors'}\n`
        : readFileSync(join(folder, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return `The dashboard holds these packages.\n\n${texts.join('\n---\n\n')}`;
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
    '.br': await promisify(brotliCompress)(plain, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
    }),
  };
  for (const [ending, form] of Object.entries(forms))
    if (form.length < plain.length) writeFileSync(file + ending, form);
}
