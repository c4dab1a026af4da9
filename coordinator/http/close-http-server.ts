import type { Server } from 'node:http';

/** How often connections that have become idle are looked for while closing. */
const SWEEP_MS = 50;

/**
 * Stops accepting, lets running requests finish, and closes their connections as they do; after `graceMs` what is left
 * is cut off. Resolves when every connection is closed. A server that never listened is closed at once.
 */
export async function closeHttpServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) {
    server.emit('close');
    return;
  }
  await new Promise<void>((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(deadline);
      resolve();
    });
  });
}
