/**
 * Loaded into a process, and into each of its threads, by NODE_OPTIONS: ends threads as somebody asks over the socket
 * QUIVER_ENDED_THREADS, by lines of JSON: { at, how }. `at` counts threads in the order in which they began, over and
 * over.
 */
const { createServer } = require('node:net');
const threads = require('node:worker_threads');

const CHANNEL = 'ended-threads';

if (threads.isMainThread) {
  /** @type {Set<import('node:worker_threads').Worker>} */
  const running = new Set();
  threads.Worker = class extends threads.Worker {
    /**
     * @param {string | URL} file
     * @param {import('node:worker_threads').WorkerOptions} [options]
     */
    constructor(file, options) {
      super(file, options);
      running.add(this);
      this.once('exit', () => running.delete(this));
    }
  };
  const channel = new threads.BroadcastChannel(CHANNEL);
  channel.unref();
  const server = createServer((socket) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('data', (piece) => {
      text += piece.toString();
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const { at, how } of lines.map((line) => JSON.parse(line))) {
        const worker = [...running][at % Math.max(1, running.size)];
        if (worker === undefined) continue;
        if (how === 'end') worker.postMessage({ type: 'tell', name: 'end', args: [] });
        else channel.postMessage({ threadId: worker.threadId, how });
      }
    });
  });
  server.listen(process.env.QUIVER_ENDED_THREADS);
  server.unref();
} else {
  const channel = new threads.BroadcastChannel(CHANNEL);
  channel.unref();
  channel.onmessage = ({ data }) => {
    if (data.threadId !== threads.threadId) return;
    if (data.how === 'exit') process.exit(1);
    setImmediate(() => {
      throw new Error('this thread was to be ended');
    });
  };
}
