import type { Socket } from 'node:net';

/**
 * What a connection begins with that is meant for a thread that answers reads, before TLS and frames (frame-link.ts),
 * and what the thread answers. Whoever accepts connections sees it before anything is encrypted, and can give the
 * connection away as it is. It is no secret and admits nobody: all that follows is as on any other connection.
 */
export const READS_GREETING = Buffer.from('QUIVER READS 2\r\n');
/**
 * For a connection that carries frames to the member itself, and not to a thread: the replication stream of another
 * node.
 */
export const NODES_GREETING = Buffer.from('QUIVER NODES 1\r\n');
/**
 * For a connection on which a member proves itself (proof-acceptor.ts), and which then carries HTTP/2 to the member
 * itself.
 */
export const PROOF_GREETING = Buffer.from('QUIVER PROOF 1\r\n');
export const READS_WELCOME = Buffer.from('QUIVER READS OK\r\n');

/** Resolves when the thread has the connection. Rejects when the connection ends, or something else answers. */
export function greet(socket: Socket, greeting: Buffer): Promise<void> {
  return new Promise((done, fail) => {
    let heard: Buffer = Buffer.alloc(0);
    const settle = (error: Error | null): void => {
      socket.off('data', hear);
      socket.off('close', lost);
      socket.off('error', lost);
      // What follows is read by who takes the connection over.
      socket.pause();
      if (error === null) return done();
      socket.destroy();
      fail(error);
    };
    const lost = (): void => settle(new Error('the connection ended before a thread took it'));
    const hear = (chunk: Buffer): void => {
      heard = heard.length === 0 ? chunk : Buffer.concat([heard, chunk]);
      const isWelcome = READS_WELCOME.subarray(0, heard.length).equals(heard.subarray(0, READS_WELCOME.length));
      if (isWelcome && heard.length < READS_WELCOME.length) return;
      settle(isWelcome ? null : new Error('the other side gives no connections to threads'));
      // Without TLS the thread speaks at once, too.
      if (isWelcome && heard.length > READS_WELCOME.length) socket.unshift(heard.subarray(READS_WELCOME.length));
    };
    socket.on('data', hear);
    socket.on('close', lost);
    socket.on('error', lost);
    socket.write(greeting);
  });
}
