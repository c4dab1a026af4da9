import { setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Projection, type ProjectionPlan } from './projection';
import type { ProjectionReply, ProjectionRequest } from './projection-thread';

/**
 * The entry point of the thread that projects one sample: it takes rows, answers each time, and at the end the result.
 */
function main(port: MessagePort): void {
  yieldToServing();
  const projection = new Projection(workerData as ProjectionPlan);
  const say = (reply: ProjectionReply, transfer: ArrayBuffer[] = []): void => port.postMessage(reply, transfer);
  port.on('message', (request: ProjectionRequest) => {
    if (request.type === 'rows') {
      projection.take(request.rows);
      say({ type: 'taken' });
    } else {
      const result = projection.finish();
      say({ type: 'done', result }, [result.coordinates.buffer as ArrayBuffer]);
      port.close();
    }
  });
}

/**
 * Those who serve come first. On Linux, this is about the thread that asks; elsewhere it would be about the process.
 */
function yieldToServing(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(5);
  } catch {
    // A process that runs with less already may not set it.
  }
}

if (parentPort !== null) main(parentPort);
