// Makes one file of each program of the service: what it loads of the compiled sources and of npm's packages. A process
// that reads one file starts in half the time of one that looks for six hundred.
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The roles, and the threads that serve for them, each by the compiled file that it begins with. */
const ROLES = { embedded: 'embedded/main', coordinator: 'coordinator/main', node: 'node/main' };
const SERVING_THREADS = {
  'http-thread': 'embedded/http-thread',
  'library-thread': 'embedded/library-thread',
  'cluster-http-thread': 'coordinator/cluster-http-thread',
  'read-thread': 'node/read-thread',
};
/** Other threads, and the process of parsers, which Node loads as any file. */
const OTHERS = {
  'embedding-worker': 'coordinator/models/transformers/embedding-worker',
  'projection-worker': 'coordinator/service/sampling/projection-worker',
  'parser-program': 'coordinator/service/documents/formats/parser-program',
};

/**
 * A thread is started by the name of its file: by this it is loaded as a role is (load-program.cjs).
 * @param {string} name
 */
const loaderOf = (name) =>
  `require('../../scripts/load-program.cjs').loadProgram(require.resolve('./${name}.code.js'));\n`;

/**
 * Packages that are loaded from their own folders: because they look for files there, and only when they are needed.
 */
export const APART = [
  '@aws-sdk/credential-provider-node',
  '@huggingface/transformers',
  '@modelcontextprotocol/server',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-base',
  'express',
  'pdfjs-dist',
  'snowball-stemmers',
  'swagger-ui-express',
];

/**
 * Messages of zod in 50 languages, which it loads whole and nothing here asks for, take a twentieth of a start. English
 * is there by itself.
 * @type {import('esbuild').Plugin}
 */
const WITHOUT_LANGUAGES = {
  name: 'without-languages',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.cjs$/ }, () => ({ contents: '' }));
  },
};

/**
 * Bundles the compiled sources in `dist` into `dist`/programs. Rejects when a file can't be found, or a role has an
 * import(), see load-program.cjs.
 * @param {string} dist
 */
export async function bundlePrograms(dist) {
  // Not before the packages are installed.
  const { build } = await import('esbuild');
  const loaded = Object.entries(SERVING_THREADS).map(([name, path]) => [`${name}.code`, path]);
  const entryPoints = Object.fromEntries(
    [...Object.entries(ROLES), ...loaded, ...Object.entries(OTHERS)].map(([name, path]) => [name, `./${path}.js`]),
  );
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints,
    outdir: 'programs',
    bundle: true,
    platform: 'node',
    target: 'node20',
    external: APART,
    plugins: [WITHOUT_LANGUAGES],
    legalComments: 'none',
    // Read by `node --enable-source-maps` alone: it leads from the line of a stack to that of the source.
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    metafile: true,
  });
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    const isLoadedByNode = Object.hasOwn(OTHERS, basename(file, '.js'));
    if (!isLoadedByNode && imports.some(({ kind }) => kind === 'dynamic-import'))
      throw new Error(`there is an import() in ${file}`);
  }
  for (const name of Object.keys(SERVING_THREADS)) writeFileSync(join(dist, 'programs', `${name}.js`), loaderOf(name));
}
