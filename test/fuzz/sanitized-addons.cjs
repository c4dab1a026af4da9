/**
 * Loaded into fuzzed processes, and into each of their threads, by NODE_OPTIONS: the project's addons come from
 * QUIVER_SANITIZED, where that is set.
 */
const { existsSync } = require('node:fs');
const { basename, join } = require('node:path');
const threads = require('node:worker_threads');

const { NODE_OPTIONS, QUIVER_SANITIZED, QUIVER_ENDED_THREADS } = process.env;
/** What is not set is left out: a thread would get it as the text "undefined". */
const OWN = Object.fromEntries(
  Object.entries({ NODE_OPTIONS, QUIVER_SANITIZED, QUIVER_ENDED_THREADS }).filter(([, value]) => value !== undefined),
);

const { dlopen } = process;
process.dlopen = function (module, filename, ...rest) {
  const sanitized = join(QUIVER_SANITIZED ?? '', basename(filename));
  return dlopen.call(
    process,
    module,
    QUIVER_SANITIZED !== undefined && existsSync(sanitized) ? sanitized : filename,
    ...rest,
  );
};

/** A thread with an environment of its own would not load this, nor the same addons. */
threads.Worker = class extends threads.Worker {
  /**
   * @param {string | URL} file
   * @param {import('node:worker_threads').WorkerOptions} [options]
   */
  constructor(file, options = {}) {
    const { env } = options;
    super(file, typeof env === 'object' ? { ...options, env: { ...env, ...OWN } } : options);
  }
};
