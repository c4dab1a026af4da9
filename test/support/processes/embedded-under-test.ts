import type { ClusterUnderTest, ProcessUnderTest } from './cluster-under-test';
import { EmbeddedProcess } from './embedded-process';

const OUTPUT_SHOWN = 3000;

/** The embedded form as a cluster of one process. */
export async function startEmbeddedUnderTest(): Promise<ClusterUnderTest> {
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
  await server.start();
  const process: ProcessUnderTest = {
    role: 'embedded',
    id: 'embedded',
    get pid() {
      return server.pid;
    },
    get isRunning() {
      return isAlive(server);
    },
    kill: () => server.kill(),
    stop: async () => void (await server.stop()),
    start: () => server.start(),
  };
  return {
    adminKey: server.apiKey,
    coordinators: () => [server.baseUrl],
    processes: () => [process],
    links: () => [],
    disks: () => [],
    inSync: async () => undefined,
    // It serves nothing before it has recovered.
    settled: () =>
      isAlive(server) ? Promise.resolve() : Promise.reject(new Error(`the process does not run: ${server.output}`)),
    differences: async () => [],
    strays: async () => [],
    evidence: async () => server.output.slice(-OUTPUT_SHOWN),
    destroy: () => server.destroy(),
  };
}

function isAlive(server: EmbeddedProcess): boolean {
  try {
    return process.kill(server.pid, 0);
  } catch {
    return false;
  }
}
