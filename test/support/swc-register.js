/** Lets a plain `node -r` process require the TypeScript sources: for tests that need a process of their own. */
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

// oxlint-disable-next-line typescript/no-deprecated -- the hooks that replace it run beside this thread
require.extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'commonjs' },
  });
  /** @type {any} */ (module)._compile(code, filename);
};
