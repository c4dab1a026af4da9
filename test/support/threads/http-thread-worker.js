/**
 * An HTTP thread from its TypeScript source, for tests that do not compile. It can be told to die, or to stand still.
 */
require('../swc-register.js');
const { parentPort, workerData } = require('node:worker_threads');
const { HttpThreadShards } = require('../../../coordinator/api/threads/http-thread-shards.ts');
const { serveHttpThread } = require('../../../coordinator/api/threads/http-thread.ts');
const { systemClock } = require('../../../shared/base/time/clock.ts');

serveHttpThread({
  port: parentPort,
  data: workerData,
  form: (main) => ({
    shards: new HttpThreadShards({ main, inline: null, clock: systemClock }),
    handlers: {
      die: () => process.exit(1),
      fail: () =>
        setImmediate(() => {
          throw new Error('not expected');
        }),
      hang: () => {
        for (;;);
      },
    },
  }),
});
