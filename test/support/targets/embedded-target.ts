import type { StartTarget } from './api-target';
import { EmbeddedProcess } from '../processes/embedded-process';

/** A real process with two HTTP threads as a target of the API suites; ended the polite way, and its data removed. */
export const startEmbedded: StartTarget = (environment) =>
  start(new EmbeddedProcess({ environment: { HTTP_THREADS: '2', ...environment } }));

/** The same on one processor. */
export const startOnOneProcessor: StartTarget = (environment) =>
  start(new EmbeddedProcess({ environment, isOnOneProcessor: true }));

async function start(server: EmbeddedProcess): Promise<Awaited<ReturnType<StartTarget>>> {
  await server.start();
  return {
    baseUrl: server.baseUrl,
    adminKey: server.apiKey,
    stop: async () => {
      const code = await server.stop();
      await server.destroy();
      if (code !== 0) throw new Error(`the process ended with ${code}: ${server.output}`);
    },
  };
}
