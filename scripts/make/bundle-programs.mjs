// Makes one file of each program of the service: what it loads of the compiled sources and of npm's packages. A process
// that reads one file starts in half the time of one that looks for six hundred.
import { basename } from 'node:path';

/** The roles, and the threads that they start, each by the compiled file that it begins with. */
const PROGRAMS = {
  embedded: 'embedded/main',
  'http-thread': 'embedded/http-thread',
  coordinator: 'coordinator/main',
  'cluster-http-thread': 'coordinator/cluster-http-thread',
  node: 'node/main',
  'read-thread': 'node/read-thread',
  'embedding-worker': 'coordinator/models/transformers/embedding-worker',
  'projection-worker': 'coordinator/service/sampling/projection-worker',
  'parser-program': 'coordinator/service/documents/formats/parser-program',
};

/** The threads, and the process of parsers, which Node loads as any file. */
const THREADS = [
  'http-thread',
  'cluster-http-thread',
  'read-thread',
  'embedding-worker',
  'projection-worker',
  'parser-program',
];

/**
 * Packages that are loaded from their own folders: because they look for files there, and only when they are needed.
 */
const APART = [
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
  const entryPoints = Object.fromEntries(Object.entries(PROGRAMS).map(([name, path]) => [name, `./${path}.js`]));
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
    const isThread = THREADS.includes(basename(file, '.js'));
    if (!isThread && imports.some(({ kind }) => kind === 'dynamic-import'))
      throw new Error(`there is an import() in ${file}`);
  }
}
