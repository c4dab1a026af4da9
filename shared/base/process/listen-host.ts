import { createServer } from 'node:net';

/** All addresses of a machine, of IPv6 and IPv4 alike; and where it has no IPv6. */
const EVERY_ADDRESS = '::';
const EVERY_IPV4_ADDRESS = '0.0.0.0';

/**
 * The address to listen on. `::` is the default, and takes connections over IPv4, too; where the system has no IPv6 and
 * nobody asked for it (`isGiven`), it is `0.0.0.0`. `tries` says whether a server can listen on an address.
 */
export async function listenHost(
  host: string,
  isGiven: boolean,
  tries: (host: string) => Promise<boolean> = canListen,
): Promise<string> {
  if (isGiven || host !== EVERY_ADDRESS) return host;
  return (await tries(host)) ? host : EVERY_IPV4_ADDRESS;
}

function canListen(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(0, host, () => server.close(() => resolve(true)));
  });
}

/** An address with a port behind it, as URLs have it: IPv6 in brackets. */
export function withPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The same by which this machine reaches it. */
export function reachableHost(host: string): string {
  return host === EVERY_ADDRESS || host === EVERY_IPV4_ADDRESS ? 'localhost' : host;
}
