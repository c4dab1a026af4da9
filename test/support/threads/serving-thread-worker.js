/** A thread that serves nothing, and can be told to stand still, or dies as it starts. */
require('../swc-register.js');
const { parentPort, workerData } = require('node:worker_threads');
const { ThreadPeer } = require('../../../shared/base/threads/thread-peer.ts');
const { endThread } = require('../../../shared/base/threads/taken-connection.ts');
const { THREAD_STATE, THREAD_WORDS } = require('../../../shared/base/threads/thread-state.ts');

/** Behind THREAD_STATE: whether a thread that hangs may go on, and whether it has ended by itself. */
const [RELEASED, LEFT] = [THREAD_WORDS, THREAD_WORDS + 1];
// Not called where it is ended by force.
process.once('exit', () => Atomics.store(workerData.state, LEFT, 1));

if (workerData.dies) process.exit(1);
const main = new ThreadPeer(parentPort, {
  connection: () => Atomics.add(workerData.state, THREAD_STATE.taken, 1),
  flush: () => undefined,
  close: () => undefined,
  end: endThread,
  fail: () =>
    setImmediate(() => {
      throw new Error('not expected');
    }),
  // Until the main thread says so in the last word, or for ever.
  hang: () => {
    while (Atomics.load(workerData.state, RELEASED) === 0);
  },
});
setInterval(() => Atomics.add(workerData.state, THREAD_STATE.beat, 1), 10);
main.tell('ready');
