import type { IncomingMessage } from 'node:http';
import { type NetworkList, plainAddress } from '../../shared/config/network-list';

/** An address with a port behind it, as some proxies write it. */
const WITH_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/**
 * The address that a request comes from. Of a trusted proxy, it is the last address in `x-forwarded-for` that is no trusted
 * proxy's: what stands before that one, the client may have invented.
 */
export function clientAddress(request: IncomingMessage, proxies: NetworkList): string {
  let address = request.socket.remoteAddress ?? 'unknown';
  if (proxies.isEmpty || !proxies.has(address)) return address;
  const forwarded = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  for (let i = hops.length - 1; i >= 0; i--) {
    const hop = addressOf(hops[i].trim());
    if (hop === null) return address;
    address = hop;
    if (!proxies.has(address)) return address;
  }
  return address;
}

function addressOf(hop: string): string | null {
  const [, bracketed, dotted] = WITH_PORT.exec(hop) ?? [];
  return plainAddress(bracketed ?? dotted ?? hop);
}
