#!/usr/bin/env node
// `quiver <role>`: becomes one role of the service in this very process. `quiver check-config [role]`: says what that role
// would run with. `quiver etcd-users`: makes etcd ask for users. Expects a checkout or image that is set up.
// CommonJS on purpose: loading an ES module already uses libuv's thread pool, whose size is read once, at its first use.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

const ROLES = {
  embedded: { main: 'embedded/main.js', threads: availableParallelism() + 4 },
  coordinator: { main: 'coordinator/main.js', threads: 4 },
  node: { main: 'node/main.js', threads: availableParallelism() + 4 },
};

const [word, ...rest] = process.argv.slice(2);
const role = Object.hasOwn(ROLES, word ?? '') && rest.length === 0 ? ROLES[word] : undefined;
if (role !== undefined) {
  process.env.UV_THREADPOOL_SIZE ??= String(role.threads);
  require(join(__dirname, '..', 'dist', role.main));
} else if (word === 'check-config') {
  require(join(__dirname, '..', 'dist', 'shared', 'config', 'check-config.js'));
} else if (word === 'etcd-users' && rest.length === 0) {
  require(join(__dirname, '..', 'dist', 'shared', 'cluster', 'etcd-users-command.js'));
} else {
  process.stderr.write(`usage: quiver ${Object.keys(ROLES).join(' | ')}\n       quiver check-config [role]\n       quiver etcd-users\nThe environment configures it: see docs/configuration.md.\n`);
  process.exitCode = 2;
}
