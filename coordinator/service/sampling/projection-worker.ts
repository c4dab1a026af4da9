import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Projection, type ProjectionPlan } from './projection';
import type { ProjectionReply, ProjectionRequest } from './projection-thread';
import { yieldToServing } from '../../models/thread-priority';

/**
 * The entry point of the thread that projects one sample: it takes rows, answers each time, and at the end the result.
 */
function main(port: MessagePort): void {
  yieldToServing(5);
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

if (parentPort !== null) main(parentPort);
