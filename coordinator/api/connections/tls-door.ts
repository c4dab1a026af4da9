import type { Socket } from 'node:net';
import { createSecureContext, createServer, type Server, type TLSSocket } from 'node:tls';

/** What the API shows its clients, PEM. */
export interface ApiCertificate {
  cert: string;
  key: string;
  /**
   * By which all threads know the sessions of each other's clients again, so that a new connection is cheap; 48 bytes.
   */
  ticketKeys: Uint8Array;
}

/** What a client speaks, by its own choice among these (ALPN, RFC 7301). */
const PROTOCOLS = ['h2', 'http/1.1'];
/** A handshake takes some round trips; who takes longer holds a connection for nothing. */
const HANDSHAKE_MS = 10_000;

/**
 * TLS on connections that were accepted elsewhere: by this thread, or by another one that passed the handle on. The
 * handshake is made on the thread that serves the connection, so that the main thread has no part in it.
 */
export class TlsDoor {
  private readonly server: Server;

  /** `opened` gets each connection whose handshake is over; one that fails, or is not over in time, is closed. */
  constructor(parts: { certificate: ApiCertificate; opened: (socket: TLSSocket) => void; handshakeMs?: number }) {
    const handshakeTimeout = parts.handshakeMs ?? HANDSHAKE_MS;
    this.server = createServer({
      ...contextOf(parts.certificate),
      ticketKeys: Buffer.from(parts.certificate.ticketKeys),
      ALPNProtocols: PROTOCOLS,
      handshakeTimeout,
    });
    this.server.on('secureConnection', parts.opened);
    // Node only tells that it takes too long, and leaves the connection open.
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  take(socket: Socket): void {
    this.server.emit('connection', socket);
  }

  /** From the next handshake on. Errors: as mustFit. */
  renew(certificate: ApiCertificate): void {
    this.server.setSecureContext(contextOf(certificate));
    this.server.setTicketKeys(Buffer.from(certificate.ticketKeys));
  }
}

/** Whether a certificate and a key belong together. Errors: those of OpenSSL. */
export function mustFit({ cert, key }: Pick<ApiCertificate, 'cert' | 'key'>): void {
  createSecureContext({ cert, key });
}

function contextOf({ cert, key }: ApiCertificate) {
  return { cert, key, minVersion: 'TLSv1.2' as const };
}
