/**
 * A thread that asks a window for admissions, each a step later by a clock that all threads share, until that is at its
 * end. Tells when it asked for what was admitted, and when it had it, in milliseconds, and asks for the next window when one is retired.
 */
require('../swc-register.js');
const { parentPort, workerData } = require('node:worker_threads');
const { SharedWindow } = require('../../../coordinator/service/limits/shared-window.ts');

const { clock, endMs, stepMs } = workerData;
const admitted = [];

function run(memory) {
  const window = new SharedWindow(memory);
  for (;;) {
    const nowMs = Atomics.add(clock, 0, stepMs);
    if (nowMs >= endMs) return parentPort.postMessage({ admitted });
    const { type } = window.admit(nowMs);
    if (type === 'retired') return parentPort.postMessage({ admitted: null });
    if (type === 'admitted') admitted.push([nowMs, Atomics.load(clock, 0)]);
  }
}

parentPort.on('message', run);
parentPort.postMessage('ready');
