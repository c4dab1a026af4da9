/** Lets a plain `node -r` process require the TypeScript sources: for tests that need a process of their own. */
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { threadId } = require('node:worker_threads');
const { version } = require('@swc/core/package.json');

/** JavaScript by what it was made from: some eighty processes and threads of a run load the same files. */
const KEPT = join(__dirname, '../../.setup/stripped');
mkdirSync(KEPT, { recursive: true });

// oxlint-disable-next-line typescript/no-deprecated -- the hooks that replace it run beside this thread
require.extensions['.ts'] = (module, filename) => {
  const source = readFileSync(filename, 'utf8');
  const kept = join(KEPT, `${createHash('sha1').update(`${version}\n${filename}\n${source}`).digest('hex')}.js`);
  let code;
  try {
    code = readFileSync(kept, 'utf8');
  } catch {
    code = strip(source, filename);
    const next = `${kept}.${process.pid}-${threadId}`;
    writeFileSync(next, code);
    renameSync(next, kept);
  }
  /** @type {any} */ (module)._compile(code, filename);
};

/**
 * @param {string} source
 * @param {string} filename
 */
function strip(source, filename) {
  const { transformSync } = require('@swc/core');
  return transformSync(source, {
    filename,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  }).code;
}
