// Preloaded by NODE_OPTIONS into an attacked process and its threads: notes how much processor time a thread took
// between two looks, which is its longest stretch of work without a rest, however busy the machine is with other
// things. Linux only; elsewhere it does nothing.
const { openSync, readlinkSync, readSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const workers = require('node:worker_threads');

const { isMainThread, threadId, Worker } = workers;

const CHECK_MS = 4;
const TELL_MS = 100;
/** Shorter ones are not told. */
const SHORT_MS = 10;
const folder = process.env.QUIVER_TURNS;

/** @returns {(() => number) | null} the processor time of this thread, in milliseconds */
function threadTime() {
  try {
    // A file descriptor of the thread's own: what it names stays, whoever reads.
    const file = openSync(join('/proc', readlinkSync('/proc/thread-self'), 'schedstat'), 'r');
    const bytes = Buffer.alloc(96);
    return () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)).split(' ')[0]) / 1e6;
  } catch {
    return null;
  }
}

// A thread of the service is given what it is to know of the environment, and needs to know this, too.
if (isMainThread && folder !== undefined) {
  workers.Worker = class extends Worker {
    /**
     * @param {string | URL} file
     * @param {import('node:worker_threads').WorkerOptions} [options]
     */
    constructor(file, options = {}) {
      super(
        file,
        typeof options.env === 'object'
          ? { ...options, env: { ...options.env, QUIVER_TURNS: folder, NODE_OPTIONS: process.env.NODE_OPTIONS } }
          : options,
      );
    }
  };
}

const time = folder === undefined ? null : threadTime();
if (time !== null) {
  const file = join(String(folder), `${process.pid}-${threadId}.json`);
  /** @type {{ ms: number, atMs: number }[]} */
  let turns = [];
  let last = time();
  let isTold = true;
  setInterval(() => {
    const now = time();
    if (now - last > SHORT_MS) {
      turns.push({ ms: Math.round(now - last), atMs: Date.now() });
      isTold = false;
    }
    last = now;
  }, CHECK_MS).unref();
  setInterval(() => {
    if (isTold) return;
    isTold = true;
    // The longest of each second are enough.
    turns = turns.sort((a, b) => b.ms - a.ms).slice(0, 200);
    writeFileSync(file, JSON.stringify({ thread: isMainThread ? 'main' : `thread ${threadId}`, turns }));
  }, TELL_MS).unref();
}
