import { ChannelCredentials } from '@grpc/grpc-js';
import type { Socket } from 'node:net';

/**
 * What HTTP/2 has for its last frames on the connection of a closed channel, all of whose streams have ended or been
 * cancelled.
 */
const ENDED_WITHIN_MS = 5_000;

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * The credentials `inner`, whose connections end with their channel. When a channel is closed, grpc-js forgets a
 * connection on which a greeting, TLS or the first frames of HTTP/2 are under way, and makes one more where it waited
 * to try again. Nobody would own these, and a peer that says nothing could hold each of them without end.
 */
export class OwnedCredentials extends ChannelCredentials {
  /** `withinMs`: how long a connection that was given to HTTP/2 may take to end after the channel. */
  constructor(
    private readonly inner: ChannelCredentials,
    private readonly withinMs = ENDED_WITHIN_MS,
  ) {
    super();
  }

  _isSecure(): boolean {
    return this.inner._isSecure();
  }

  _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>): SecureConnector {
    const connector = this.inner._createSecureConnector(...args);
    const begun = new Set<Socket>();
    const ready = new Set<Socket>();
    let isClosed = false;
    const refuseClosed = (): void => {
      if (isClosed) throw new Error('the channel is closed');
    };
    return {
      waitForReady: async () => {
        refuseClosed();
        await connector.waitForReady();
      },
      connect: async (socket) => {
        begun.add(socket);
        try {
          // grpc-js closes the connection when this fails.
          refuseClosed();
          const result = await connector.connect(socket);
          ready.add(result.socket);
          result.socket.once('close', () => ready.delete(result.socket));
          if (isClosed) result.socket.destroy();
          refuseClosed();
          return result;
        } finally {
          begun.delete(socket);
        }
      },
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => {
        isClosed = true;
        connector.destroy();
        cut(begun);
        if (ready.size > 0) setTimeout(() => cut(ready), this.withinMs).unref();
      },
    };
  }
}

function cut(sockets: Iterable<Socket>): void {
  for (const socket of sockets) socket.destroy();
}
