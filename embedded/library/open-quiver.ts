import { resolve } from 'node:path';
import { QuiverClient } from '../../clients/typescript/src/client';
import type { QuiverOptions } from '../../clients/typescript/src/transport';
import { ServiceThread } from './service-thread';

/** How a folder is opened. */
export interface OpenOptions extends Pick<QuiverOptions, 'timeoutMs' | 'retry' | 'onWarning' | 'strict' | 'onWait'> {
  /**
   * Settings of the service by their names, as EMBEDDING_MODEL or CACHE_BYTES; those of ports, keys and pages do
   * nothing here. The environment of the program is not looked at.
   */
  settings?: Record<string, string | number | boolean>;
  /**
   * Takes the lines of the service's log, each a JSON object; LOG_LEVEL says which. Default: errors go to standard
   * error. null: nobody gets them.
   */
  onLog?: ((line: string) => void) | null;
}

/** A service in this process, whose data are in a folder. It is used as any other is, and closed at the end. */
export class EmbeddedQuiver extends QuiverClient {
  readonly #thread: ServiceThread;

  /** @internal By {@link openQuiver}. */
  constructor(thread: ServiceThread, { settings: _settings, onLog: _onLog, ...options }: OpenOptions) {
    // What stands in the place of an address is met in messages alone. No key: the environment's is of another service.
    super({ ...options, url: 'http://embedded', apiKey: 'owner', fetch: thread.fetch as typeof fetch });
    this.#thread = thread;
  }

  /**
   * Waits for the calls under way, and ends the service; calls that come later are a ClosedError. What was acknowledged
   * is safe without it, too. A program that ends without it has lost nothing.
   */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens a folder of data, which is made if it is not there, in this process: the same service as `quiver serve FOLDER`,
 * in a thread, without HTTP. One process has a folder at a time.
 *
 * Rejects with an ApiError by the service's code: a ServerError (500) for a folder that another process has open, which
 * the message names, or that can't be read or written; a BadRequestError (400) for a setting that is not valid.
 */
export async function openQuiver(folder: string, options: OpenOptions = {}): Promise<EmbeddedQuiver> {
  const { settings = {}, onLog = (line: string) => void process.stderr.write(line) } = options;
  const given = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  const data = {
    folder: resolve(folder),
    settings: { LOG_LEVEL: 'error', ...Object.fromEntries(given) },
    words: process.argv,
  };
  return new EmbeddedQuiver(await ServiceThread.open(data, onLog), options);
}
