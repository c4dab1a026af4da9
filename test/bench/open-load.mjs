import { writeSync } from 'node:fs';
import { Worker, parentPort, workerData } from 'node:worker_threads';
import { seededRandom } from './seeded-random.mjs';

const IDLE = 0;
const BUSY = 1;
/** How long to wait before asking again a connection that takes no more bytes. A request fits into its buffer, so this is rare. */
const FULL_MS = 0.2;

/** Milliseconds by a clock that all threads of the machine share; finer than a microsecond. */
export function clockMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Sends prepared requests, `perSecond` on average, over connections that are open already, until `endMs` and until one at
 * least was sent after `startMs`, whatever is answered meanwhile: at random moments (a Poisson process), or in equal steps
 * if `isEven`. A thread of its own waits for each moment and writes into the sockets by itself: an event loop keeps time to
 * a millisecond only, and would send all that became due in one as a burst. One that is due when no connection is free
 * waits for one.
 *
 * `answered` is called with the body, the moment from which the latency counts (when it was sent, or due if it had to wait
 * for a connection), the moment of the answer, and how late it was sent.
 * @param {{ open: import('./http-connection.mjs').HttpConnection[], prepared: Buffer[], perSecond: number, isEven?: boolean, startMs: number, endMs: number, seed?: number,
 *   answered: (body: Buffer, sinceMs: number, nowMs: number, lateMs: number) => void }} options
 */
export async function sendInTime({ open, prepared, perSecond, isEven = false, startMs, endMs, seed = 1, answered }) {
  const shared = {
    states: new Int32Array(new SharedArrayBuffer(open.length * 4)),
    freed: new Int32Array(new SharedArrayBuffer(4)),
    sinceMs: new Float64Array(new SharedArrayBuffer(open.length * 8)),
    lateMs: new Float64Array(new SharedArrayBuffer(open.length * 8)),
  };
  const sender = new Worker(new URL(import.meta.url), {
    workerData: { ...shared, prepared, perSecond, isEven, startMs, endMs, seed, handles: open.map(({ socket }) => /** @type {any} */ (socket)._handle.fd) },
  });
  let isOver = false;
  await new Promise((done, fail) => {
    const finish = () => isOver && shared.states.every((_, i) => Atomics.load(shared.states, i) === IDLE) && done(undefined);
    sender.once('error', fail);
    sender.once('exit', () => {
      isOver = true;
      finish();
    });
    const listen = async (connection, i) => {
      // Asked for before it is sent: the sender may be quick.
      for (let answer = connection.send(); ;) {
        const body = await answer;
        const nowMs = clockMs();
        answer = connection.send();
        answered(body, shared.sinceMs[i], nowMs, shared.lateMs[i]);
        Atomics.store(shared.states, i, IDLE);
        Atomics.add(shared.freed, 0, 1);
        Atomics.notify(shared.freed, 0);
        if (isOver) finish();
      }
    };
    for (const [i, connection] of open.entries()) listen(connection, i).catch(fail);
  });
}

/** Runs on the thread that sends. Returns when the last request has been sent. */
function send({ handles, states, freed, sinceMs, lateMs, prepared, perSecond, isEven, startMs, endMs, seed }) {
  const random = seededRandom(seed);
  const alarm = new Int32Array(new SharedArrayBuffer(4));
  let next = 0;
  let isMeasured = false;
  for (let dueMs = clockMs(); ;) {
    dueMs += ((isEven ? 1 : -Math.log(1 - random())) * 1000) / perSecond;
    if (dueMs >= endMs && isMeasured) return;
    for (let leftMs = dueMs - clockMs(); leftMs > 0; leftMs = dueMs - clockMs()) Atomics.wait(alarm, 0, 0, leftMs);
    const from = Math.floor(random() * handles.length);
    let place = idleFrom(states, from);
    const hadToWait = place < 0;
    while (place < 0) {
      const seen = Atomics.load(freed, 0);
      place = idleFrom(states, from);
      if (place < 0) Atomics.wait(freed, 0, seen);
    }
    const nowMs = clockMs();
    sinceMs[place] = hadToWait ? dueMs : nowMs;
    lateMs[place] = nowMs - dueMs;
    isMeasured ||= sinceMs[place] >= startMs;
    Atomics.store(states, place, BUSY);
    writeWhole(handles[place], prepared[next++ % prepared.length], alarm);
  }
}

/** A connection that has no request under way, chosen from a place on; -1: none. @param {Int32Array} states */
function idleFrom(states, from) {
  for (let i = 0; i < states.length; i++) {
    const place = (from + i) % states.length;
    if (Atomics.load(states, place) === IDLE) return place;
  }
  return -1;
}

function writeWhole(handle, bytes, alarm) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(handle, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(alarm, 0, 0, FULL_MS);
    }
  }
}

// Others import this file on threads of their own.
if (parentPort !== null && workerData?.handles !== undefined) send(workerData);
