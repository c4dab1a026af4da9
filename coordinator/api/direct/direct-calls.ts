import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiServer, startUnlistened } from '../http/http-server';
import { DirectCall, DirectUpload } from './direct-call';
import { BODY_IN_PIECES, type FromService, type ToService } from './direct-messages';

/**
 * Calls of the API that come as messages from the program whose service this is. They go the way of all requests, but
 * for what reads and writes HTTP.
 */
export class DirectCalls {
  private readonly calls = new Map<number, DirectCall>();
  private server: ApiServer | null = null;
  private allOver: (() => void) | null = null;

  constructor(private readonly send: (message: FromService) => void) {}

  async open(server: ApiServer): Promise<void> {
    this.server = server;
    startUnlistened(server);
  }

  take(message: Exclude<ToService, ['close']>): void {
    const [kind, id] = message;
    if (kind === 'call') return this.begin(message);
    const call = this.calls.get(id);
    // It may be over by the time that the message comes.
    if (call === undefined) return;
    if (kind === 'piece') {
      if (call.request instanceof DirectUpload) call.request.arrived(message[2]);
    } else if (kind === 'taken') call.response.taken(message[2]);
    else call.gone();
  }

  /** Resolves when all calls are answered; after `graceMs`, those that are left are broken off. */
  async close(graceMs: number): Promise<void> {
    // All of these answers has been sent: nobody reads the rest.
    for (const call of [...this.calls.values()]) if (call.response.writableEnded) call.gone();
    if (this.calls.size > 0) {
      const timer = setTimeout(() => {
        for (const call of this.calls.values()) call.gone();
      }, graceMs);
      await new Promise<void>((resolve) => (this.allOver = resolve));
      clearTimeout(timer);
    }
    this.server?.emit('close');
    this.server = null;
  }

  private begin([, id, method, target, headers, body]: Extract<ToService, ['call', ...unknown[]]>): void {
    const { server } = this;
    if (server === null) return this.send(['broken', id]);
    const over = (): void => {
      this.calls.delete(id);
      if (this.calls.size === 0) this.allOver?.();
    };
    const call = new DirectCall(id, { method, target, headers }, bytesOf(body), { send: this.send, over });
    this.calls.set(id, call);
    server.answer(call.request as unknown as IncomingMessage, call.response as unknown as ServerResponse);
  }
}

/** null: they come in pieces. */
function bytesOf(body: string | Uint8Array | null | typeof BODY_IN_PIECES): Buffer | null {
  if (body === BODY_IN_PIECES) return null;
  if (body === null) return Buffer.alloc(0);
  return typeof body === 'string'
    ? Buffer.from(body)
    : Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
}
