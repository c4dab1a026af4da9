// `npm start`: sets up what is missing, then becomes the service in this very process, so that signals reach it and its
// exit code is npm's. CommonJS on purpose: loading an ES module already uses libuv's thread pool, whose size is read once,
// at its first use, and searches and storage need more threads than its default four.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

/** As embedded/main.ts has it: a core's worth of searches, and threads that wait for the disk beside them. */
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 4);

import('./setup.mjs').then(async ({ ROOT, setUpOrExit }) => {
  await setUpOrExit();
  require(join(ROOT, 'dist', 'embedded', 'main.js'));
});
