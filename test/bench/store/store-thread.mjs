// A second thread of a candidate's process: opens what it is given and reads a record.
import { parentPort, workerData } from 'node:worker_threads';
import { differenceOf, keyOf } from './records.mjs';

const { adapter, options, location } = workerData;
try {
  const { open } = await import(`./adapters/${adapter}.mjs`);
  const store = await open(location, JSON.parse(options));
  const [value] = await store.getMany([keyOf(3)]);
  await store.close();
  const wrong = differenceOf(3, value);
  parentPort.postMessage(wrong === null ? { reads: true } : { error: wrong });
} catch (error) {
  parentPort.postMessage({ error: error.cause?.message ?? error.message });
}
