import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { portRefused } from '../errors/port-refused';
import { withPort } from './listen-host';
import { ListenerGuard } from './listener-guard';
import { acceptWide, type DuplicateHandle } from './wide-accept';

/** Probes and scrapes are small and local, so a slower request is not a real one. */
const REQUEST_TIMEOUT_MS = 5000;
/** Enough for probes and a few scrapers; it bounds what a stray client can hold open. */
const CONNECTIONS_MAX = 64;
/** For the whole of an answer: who takes longer than any scraper waits keeps a connection from others. */
const ANSWER_TIMEOUT_MS = 30_000;
const PLAIN = 'text/plain; charset=utf-8';

/** Whether the process accepts traffic; if not, what is missing. */
export type Readiness = { ready: true } | { ready: false; reason: string };

interface Answer {
  status: number;
  contentType: string;
  text: string | Buffer;
}

/**
 * The operations port: `/livez` (the process answers), `/readyz` (it accepts traffic), `/metrics`. It uses real HTTP
 * statuses, needs no key and shows no data. It opens before recovery, so that the platform can tell a recovering
 * process from a dead one.
 */
export class OpsServer {
  private readonly readiness: () => Readiness;
  private readonly metrics: () => Promise<{ contentType: string; text: string | Buffer }>;
  private readonly onError: (error: unknown) => void;
  private readonly answerTimeoutMs: number;
  private readonly duplicateHandle: DuplicateHandle | null;
  private readonly server: Server;

  /**
   * `onError` gets the error of a failed `/metrics`, which is answered with 500, and of connections that could not be
   * accepted. With `duplicateHandle`, many connections can be taken at a time.
   */
  constructor(options: {
    readiness: () => Readiness;
    metrics: () => Promise<{ contentType: string; text: string | Buffer }>;
    onError: (error: unknown) => void;
    answerTimeoutMs?: number;
    duplicateHandle?: DuplicateHandle;
  }) {
    this.readiness = options.readiness;
    this.metrics = options.metrics;
    this.onError = options.onError;
    this.answerTimeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
    this.duplicateHandle = options.duplicateHandle ?? null;
    const guard = new ListenerGuard((error) => this.onError(error));
    this.server = createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
      guard.around(
        (request, response) => this.handle(request, response),
        (_request, response) => response.destroy(),
      ),
    );
    this.server.maxConnections = CONNECTIONS_MAX;
  }

  /** Resolves to the port it listens on. Errors: invalid_parameter when the port or address can't be used. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const refused = (cause: Error): void =>
        reject(portRefused(`operations port ${withPort(host, port)}`, 'OPS_PORT', cause));
      this.server.once('error', refused);
      this.server.listen(port, host, () => {
        this.server.off('error', refused);
        this.server.on('error', this.onError);
        if (this.duplicateHandle !== null) acceptWide(this.server, this.duplicateHandle);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  /** Ends every connection; idempotent. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that is gone needs no answer.
    response.on('error', () => undefined);
    const answer = await this.answer(request).catch((error: unknown): Answer => {
      this.onError(error);
      return plain(500, 'failed');
    });
    const patience = setTimeout(() => response.destroy(), this.answerTimeoutMs);
    response.once('close', () => clearTimeout(patience));
    response.writeHead(answer.status, {
      'content-type': answer.contentType,
      'content-length': Buffer.byteLength(answer.text),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : answer.text);
    request.resume();
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'method not allowed');
    switch ((request.url ?? '').split('?', 1)[0]) {
      case '/livez':
        return plain(200, 'ok');
      case '/readyz': {
        const readiness = this.readiness();
        return readiness.ready ? plain(200, 'ok') : plain(503, readiness.reason);
      }
      case '/metrics': {
        const { contentType, text } = await this.metrics();
        return { status: 200, contentType, text };
      }
      default:
        return plain(404, 'not found');
    }
  }
}

function plain(status: number, text: string): Answer {
  return { status, contentType: PLAIN, text: `${text}\n` };
}
