import { QuiverClient } from '../../clients/typescript/src/client';
import type { CallOptions } from '../../clients/typescript/src/request';
import { Transport } from '../../clients/typescript/src/transport';
import { WarningsOnce } from '../../clients/typescript/src/warnings';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { directFetch } from './direct-fetch';
import { commandErrorFrom } from './service-error';
import type { Target } from './target';

/** One call that the client has no method for, or none that takes JSON as it is. */
export interface ApiCall extends CallOptions {
  query?: Record<string, string | number>;
  /** Sent as JSON; a text, and bytes, are JSON already. */
  body?: unknown;
}

/** The request that a warning is about, which the person made by a command. */
const REQUEST = /^[A-Z]+ \/\S*: /;
/** Shorter ones pass unnoticed. */
const REPORTED_WAIT_MS = 1000;

type ApiMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A service, by the client for programs. */
export class Connection {
  readonly client: QuiverClient;
  private readonly transport: Transport;

  constructor(
    readonly target: Target,
    timeoutMs: number,
    /**
     * Its signal ends every call; waits that a person would notice, and the service's warnings, are told in its
     * messages.
     */
    { signal, messages }: Pick<CommandContext, 'signal' | 'messages'>,
  ) {
    const fetchUntilStopped: typeof fetch = async (input, init) =>
      directFetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) });
    const onWait = (waitMs: number, error: Error): void => {
      if (waitMs >= REPORTED_WAIT_MS) messages.write(`waiting ${Math.round(waitMs / 1000)} s: ${error.message}\n`);
    };
    // One repetition for a connection that an idle service closed; a person would rather see an error than wait.
    const options = {
      url: target.url,
      apiKey: target.apiKey ?? undefined,
      timeoutMs,
      retry: { retries: 1 },
      headers: { 'user-agent': 'quiver-command-line' },
      fetch: fetchUntilStopped,
      onWarning: new WarningsOnce((warning) => messages.write(`warning: ${warning.replace(REQUEST, '')}\n`)).tell,
      onWait,
    };
    try {
      this.client = new QuiverClient(options);
      this.transport = new Transport(options);
    } catch (error) {
      // A key that no header can hold.
      throw new CommandError((error as Error).message, EXIT_CODES.usage, { cause: error });
    }
  }

  /**
   * Answers `data` of the envelope; throws ServiceError or NoAnswerError. A call that may not be made twice is sent
   * once.
   */
  async call<Data = any>(method: ApiMethod, path: string, { query, body, ...options }: ApiCall = {}): Promise<Data> {
    return this.transport.data<Data>({ method, path, query, json: body }, options).catch((error: Error) => {
      throw commandErrorFrom(error);
    });
  }

  /** Sends JSON to an endpoint that has no envelope, once; answers whatever comes. Throws NoAnswerError. */
  async message(path: string, json: string, headers: Record<string, string>): Promise<{ type: string; text: string }> {
    return this.transport.whatever({ method: 'POST', path, json }, { headers }).catch((error: Error) => {
      throw commandErrorFrom(error);
    });
  }
}

/** A path of segments that are encoded. Throws a CommandError for those that mean another folder in every address. */
export function urlPath(...segments: string[]): string {
  const dots = segments.find((segment) => segment === '.' || segment === '..' || segment === '');
  if (dots !== undefined)
    throw new CommandError(
      dots === '' ? 'a name is empty' : `"${dots}" can not be a name in an address`,
      EXIT_CODES.usage,
    );
  return `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function collectionUrl(collection: string, ...segments: string[]): string {
  return urlPath('v1', 'collections', collection, ...segments);
}
