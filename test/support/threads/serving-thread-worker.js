/** A thread that serves nothing, and can be told to stand still, or dies as it starts. */
require('../swc-register.js');
const { parentPort, workerData } = require('node:worker_threads');
const { ThreadPeer } = require('../../../shared/base/threads/thread-peer.ts');
const { THREAD_STATE } = require('../../../shared/base/threads/thread-state.ts');

if (workerData.dies) process.exit(1);
const main = new ThreadPeer(parentPort, {
  connection: () => Atomics.add(workerData.state, THREAD_STATE.taken, 1),
  flush: () => undefined,
  close: () => undefined,
  fail: () =>
    setImmediate(() => {
      throw new Error('not expected');
    }),
  hang: () => {
    for (;;);
  },
});
setInterval(() => Atomics.add(workerData.state, THREAD_STATE.beat, 1), 10);
main.tell('ready');
