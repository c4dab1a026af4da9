/** A front thread from its TypeScript source, for tests that do not compile. It can be told to die, or to stand still. */
require('./swc-register.js');
const { parentPort, workerData } = require('node:worker_threads');
const { serveFrontThread } = require('../../coordinator/threads/front-thread.ts');

serveFrontThread({
  port: parentPort,
  data: workerData,
  inline: null,
  more: {
    die: () => process.exit(1),
    hang: () => {
      for (;;);
    },
  },
});
