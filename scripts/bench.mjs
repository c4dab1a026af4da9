// `npm run bench`: sets up what is missing and runs the benchmark of vectors, or the one named by the first argument.
// The packages of test/bench (the peers) are installed only when a peer is requested.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, hashOf, isStamped, runNpm, setUpOrExit } from './setup.mjs';
import { ensureEtcdOrExit } from './make/system-packages.mjs';

const FOLDER = join(ROOT, 'test', 'bench');
const STAMP = join(FOLDER, 'node_modules', '.quiver-stamp');

/**
 * Benchmarks with a name of their own: module, function, and whether they need the packages of test/bench, or etcd.
 * @type {Record<string, [module: string, name: string, needs?: { packages?: boolean, etcd?: boolean }]>}
 */
const BENCHES = {
  text: ['../test/bench/text/text-bench.mjs', 'textBench'],
  embed: ['../test/bench/embed-speed.mjs', 'benchEmbed'],
  provider: ['../test/bench/provider-bench.mjs', 'providerBench'],
  keyword: ['../test/bench/keyword-bench.mjs', 'keywordBench'],
  map: ['../test/bench/map-bench.mjs', 'mapBench', { etcd: true }],
  quiet: ['../test/bench/quiet-bench.mjs', 'quietBench', { etcd: true }],
  links: ['../test/bench/links-bench.mjs', 'linksBench'],
  members: ['../test/bench/members-bench.mjs', 'membersBench', { etcd: true }],
  filters: ['../test/bench/filters-bench.mjs', 'filtersBench'],
  'keyword-features': ['../test/bench/keyword-features-bench.mjs', 'keywordFeaturesBench'],
  'query-features': ['../test/bench/query-features-bench.mjs', 'queryFeaturesBench'],
  rerank: ['../test/bench/rerank-bench.mjs', 'rerankBench'],
  answer: ['../test/bench/answer-bench.mjs', 'answerBench'],
  cursors: ['../test/bench/cursors-bench.mjs', 'cursorsBench'],
  documents: ['../test/bench/documents-bench.mjs', 'documentsBench'],
  reembed: ['../test/bench/reembed-bench.mjs', 'reembedBench'],
  loading: ['../test/bench/loading-bench.mjs', 'loadingBench'],
  serving: ['../test/bench/serving-bench.mjs', 'servingBench'],
  threads: ['../test/bench/threads-bench.mjs', 'threadsBench'],
  import: ['../test/bench/import-bench.mjs', 'importBench'],
  backup: ['../test/bench/backup-bench.mjs', 'backupBench'],
  quantization: ['../test/bench/quantization-bench.mjs', 'quantizationBench'],
  migrate: ['../test/bench/migrate-bench.mjs', 'migrateBench', { packages: true }],
  curves: ['../test/bench/curves-bench.mjs', 'curvesBench', { packages: true }],
  sizing: ['../test/bench/sizing-bench.mjs', 'sizingBench'],
  'small-node': ['../test/bench/small-node-bench.mjs', 'smallNodeBench'],
  collections: ['../test/bench/collections-bench.mjs', 'collectionsBench'],
  growth: ['../test/bench/growth-bench.mjs', 'growthBench'],
  formats: ['../test/bench/formats-bench.mjs', 'formatsBench'],
  library: ['../test/bench/library-bench.mjs', 'libraryBench'],
  store: ['../test/bench/store-bench.mjs', 'storeBench', { packages: true }],
};

/**
 * The benchmark of vectors. The check of types does not follow a string: tsconfig.bench.json has its own rules. @type
 * {string}
 */
const VECTORS = '../test/bench/bench.mjs';

await setUpOrExit();
const words = process.argv.slice(2);
try {
  const own = BENCHES[words[0]];
  if (own !== undefined) {
    const [module, name, needs] = own;
    if (needs?.packages) installBenchPackages();
    if (needs?.etcd) await ensureEtcdOrExit();
    if (words.some((word) => /(?:^|=)hnswlib$/.test(word))) buildHnswlib();
    await (await import(module))[name](words.slice(1));
  } else {
    await benchVectors(words);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

/** @param {string[]} words */
async function benchVectors(words) {
  if (words.some((word) => /(?:^|=)(?:chroma|hnswlib|usearch(?:-bf16)?)$/.test(word))) {
    installBenchPackages();
    buildHnswlib();
  }
  if (words.some((word) => /(?:^|=)cluster$/.test(word))) await ensureEtcdOrExit();
  const { bench } = await import(VECTORS);
  await bench(words);
}

function installBenchPackages() {
  const lock = hashOf([join(FOLDER, 'package-lock.json')], [process.versions.modules, process.arch]);
  if (isStamped(STAMP, lock)) return;
  console.log('bench: installing the packages of test/bench');
  runNpm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], FOLDER);
  writeFileSync(STAMP, lock);
}

/** Builds the only peer that comes without a binary. */
function buildHnswlib() {
  if (loads('hnswlib-node')) return;
  console.log('bench: building hnswlib-node');
  runNpm(['rebuild', 'hnswlib-node', '--foreground-scripts', '--ignore-scripts=false'], FOLDER);
}

/** @param {string} name */
function loads(name) {
  return (
    spawnSync(process.execPath, ['-e', `require(${JSON.stringify(name)})`], { cwd: FOLDER, stdio: 'ignore' }).status ===
    0
  );
}
