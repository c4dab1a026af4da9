// Builds the native addons a second time with AddressSanitizer and UndefinedBehaviorSanitizer, beside the usual ones, for
// `npm run fuzz -- --sanitize`. FAISS itself is linked as it is: what is looked at is this project's own C++.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ADDONS, COMMON_FOLDER } from './build-native.mjs';
import { ROOT } from './setup.mjs';

const COMPILER = process.env.CXX || 'g++';
const OUTPUT = join(ROOT, 'data', 'sanitized');
/** Speed that a fuzzer can live with, frames and lines that a report can name. */
const FLAGS = [
  '-O1', '-g', '-std=c++17', '-fPIC', '-fvisibility=hidden', '-fno-omit-frame-pointer', '-DNAPI_VERSION=8', '-DNODE_GYP_MODULE_NAME=addon', '-fopenmp',
  '-fsanitize=address,undefined', '-fno-sanitize=vptr', '-fno-sanitize-recover=undefined',
];

const LIBRARIES = { faiss: ['-lfaiss', '-lopenblas', '-llapack'], rocksdb: ['-lrocksdb'] };

/** Builds what is older than its sources. Throws with the compiler's words when that fails. */
export async function buildSanitized({ log = () => {} } = {}) {
  const require = createRequire(join(ROOT, 'package.json'));
  const includes = [['node-api-headers', 'include'], ['node-addon-api', '']].map(([name, inner]) => `-I${join(dirname(require.resolve(`${name}/package.json`)), inner)}`);
  const machine = process.arch === 'x64' ? ['-march=x86-64-v2'] : [];
  mkdirSync(OUTPUT, { recursive: true });
  for (const { name, folder, library, common } of ADDONS) {
    const folders = (common ? [folder, COMMON_FOLDER] : [folder]).map((one) => join(ROOT, one));
    const files = folders.flatMap((one) => readdirSync(one).filter((file) => /\.(cc|h)$/.test(file)).map((file) => join(one, file)));
    const output = join(OUTPUT, `${name}.node`);
    if (existsSync(output) && files.every((file) => statSync(file).mtimeMs < statSync(output).mtimeMs)) continue;
    const sources = files.filter((file) => file.endsWith('.cc'));
    const { status, stderr, error } = spawnSync(COMPILER, [...FLAGS, ...machine, ...includes, ...folders.map((one) => `-I${one}`), '-shared', ...sources, '-o', output, ...(LIBRARIES[library] ?? [])], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${COMPILER} failed for ${name} with sanitizers: ${error?.message ?? stderr.slice(0, 2_000)}`);
    log(`built ${output}`);
  }
}

/** What makes a process load those addons in place of the usual ones. Node itself is not instrumented, so that the sanitizer's library has to be there first. */
export function sanitizerEnvironment() {
  const library = (name) => spawnSync(COMPILER, [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim();
  return {
    LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
    // Node's own memory at exit is no leak of ours, and V8 handles some signals itself.
    ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1:handle_segv=1:allocator_may_return_null=1',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    NODE_OPTIONS: `--require ${join(ROOT, 'test', 'fuzz', 'sanitized-addons.cjs')}`,
    QUIVER_SANITIZED: OUTPUT,
  };
}
