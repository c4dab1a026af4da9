/** Loaded into fuzzed processes by NODE_OPTIONS: the project's addons come from QUIVER_SANITIZED. */
const { existsSync } = require('node:fs');
const { basename, join } = require('node:path');

const { dlopen } = process;
process.dlopen = function (module, filename, ...rest) {
  const sanitized = join(process.env.QUIVER_SANITIZED ?? '', basename(filename));
  return dlopen.call(process, module, existsSync(sanitized) ? sanitized : filename, ...rest);
};
