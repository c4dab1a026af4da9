// Ports for services that a script starts.
import { createServer } from 'node:net';

/**
 * So many ports of this machine on which nothing listens, each another one. Whoever is faster may take one.
 * @param {number} count
 */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
      return server;
    }),
  );
  const ports = servers.map((server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
