#!/usr/bin/env node
// `quiver <role>`: becomes one role of the service in this very process. Expects a checkout or image that is set up.
// CommonJS on purpose: loading an ES module already uses libuv's thread pool, whose size is read once, at its first use.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

const ROLES = {
  embedded: { main: 'coordinator/embedded.js', threads: availableParallelism() + 4 },
  coordinator: { main: 'coordinator/main.js', threads: 4 },
  node: { main: 'node/main.js', threads: availableParallelism() + 4 },
};

const role = ROLES[process.argv[2]];
if (role === undefined || process.argv.length > 3) {
  process.stderr.write(`usage: quiver ${Object.keys(ROLES).join(' | ')}\nThe environment configures it: see the README.\n`);
  process.exitCode = 2;
} else {
  process.env.UV_THREADPOOL_SIZE ??= String(role.threads);
  require(join(__dirname, '..', 'dist', role.main));
}
