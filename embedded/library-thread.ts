import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DirectCalls } from '../coordinator/api/direct/direct-calls';
import type { FromService, ToService } from '../coordinator/api/direct/direct-messages';
import { readConfig } from '../shared/base/config/config';
import { secretsOf } from '../shared/base/config/config-secrets';
import { isQuiverError } from '../shared/base/errors/quiver-error';
import { createLogger } from '../shared/base/logs/pino-logger';
import { LineOutput } from '../shared/base/process/line-output';
import { startWithShutdown } from '../shared/base/process/shutdown-stack';
import { openEmbedded } from './embedded-service';
import type { LibraryThreadData } from './library-thread-data';

/** The thread of a program that has the service in its own process: the embedded form, reached by messages. */

const STANDARD_OUTPUT = 1;
/** Who has the folder needs no key, no limits and no pages. */
const FIXED = { RATE_LIMIT_PER_MINUTE: '0', HTTP_THREADS: '1', API_UI: 'false' };

const port = parentPort!;
const send = (message: FromService): void => port.postMessage(message);

async function open({ folder, settings, words }: LibraryThreadData): Promise<void> {
  const environment = { ...settings, ...FIXED, DATA_DIR: folder };
  const config = readConfig(environment, availableParallelism());
  const log = createLogger({
    level: config.logLevel,
    secrets: secretsOf(config),
    output: {
      write: (line) => send(['log', line]),
      flush: () => Promise.resolve(),
      flushNow: () => undefined,
    },
  });
  const calls = new DirectCalls(send);
  const service = await startWithShutdown(async (shutdown) => {
    await openEmbedded({
      config,
      environment,
      log,
      // For an audit log that goes there.
      output: new LineOutput({ file: STANDARD_OUTPUT, mayBlock: true }),
      shutdown,
      stopSignal: new AbortController().signal,
      entrance: calls,
      words,
    });
  });
  port.on('message', (message: ToService) => {
    if (message[0] !== 'close') return calls.take(message);
    // What fails here is an error of the thread, of which the program hears.
    void service.stop().then(() => process.exit(0));
  });
  send(['ready']);
}

open(workerData as LibraryThreadData).catch((error: unknown) => {
  if (!isQuiverError(error)) throw error;
  send(['failed', error.code, error.message]);
  process.exit(1);
});
