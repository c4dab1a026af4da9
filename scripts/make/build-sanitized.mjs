// Builds the native addons a second time, with AddressSanitizer and UndefinedBehaviorSanitizer, beside the usual ones,
// for `npm run fuzz -- --sanitize`. FAISS itself is linked without sanitizers: only this project's own C++ is checked.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ADDONS, COMPILER, compileFlags, filesOf, foldersOf, linkFlags } from './build-native.mjs';
import { ROOT } from '../setup.mjs';

const OUTPUT = join(ROOT, 'data', 'sanitized');
/** Fast enough for a fuzzer, with frames and lines for reports. These come after the usual flags and override them. */
const FLAGS = [
  '-O1',
  '-g',
  '-fno-omit-frame-pointer',
  '-fsanitize=address,undefined',
  '-fno-sanitize=vptr',
  '-fno-sanitize-recover=undefined',
];

/**
 * Builds what is older than its sources. Errors: that of the compiler, with its output.
 * @param {{ log?: (line: string) => void }} [options]
 */
export async function buildSanitized({ log = () => {} } = {}) {
  mkdirSync(OUTPUT, { recursive: true });
  for (const addon of ADDONS) {
    const files = foldersOf(addon).flatMap((folder) => filesOf(folder, /\.(cc|h)$/));
    const output = join(OUTPUT, `${addon.name}.node`);
    if (existsSync(output) && files.every((file) => statSync(file).mtimeMs < statSync(output).mtimeMs)) continue;
    const sources = files.filter((file) => file.endsWith('.cc'));
    const { status, stderr, error } = spawnSync(
      COMPILER,
      [...compileFlags(addon), ...FLAGS, ...sources, '-o', output, ...linkFlags(addon)],
      { encoding: 'utf8' },
    );
    if (status !== 0)
      throw new Error(
        `${COMPILER} failed for ${addon.name} with sanitizers: ${error?.message ?? stderr.slice(0, 2_000)}`,
      );
    log(`built ${output}`);
  }
}

/**
 * The environment in which a process loads these addons instead of the usual ones. Node itself is not instrumented, so
 * the sanitizer's library has to be loaded first.
 */
export function sanitizerEnvironment() {
  const library = (/** @type {string} */ name) =>
    spawnSync(COMPILER, [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim();
  return {
    LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
    // Node's own memory at exit is not a leak of ours, and V8 handles some signals itself.
    ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1:handle_segv=1:allocator_may_return_null=1',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    NODE_OPTIONS: `--require ${join(ROOT, 'test', 'fuzz', 'sanitized-addons.cjs')}`,
    QUIVER_SANITIZED: OUTPUT,
  };
}
