import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type NetworkList, plainAddress } from '../../../shared/base/config/network-list';

/** An address with a port behind it, as some proxies write it. */
const WITH_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/**
 * The address that a request comes from. Of a trusted proxy, it is the last address in `x-forwarded-for` that is no
 * trusted proxy's: what stands before that one, the client may have invented.
 */
export function clientAddress(request: IncomingMessage, proxies: NetworkList): string {
  const { remoteAddress = 'unknown' } = request.socket;
  // A port that listens over IPv6 and IPv4 alike tells the latter in the form of the former.
  let address = plainAddress(remoteAddress) ?? remoteAddress;
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

/**
 * By what the requests and answers of strangers are counted: an address of IPv4, and of IPv6 the network of 64 bits
 * that it is in, because whoever has one address there has all of them.
 */
export function limitedAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head, tail] = address.split('::');
  const front = head === '' ? [] : head.split(':');
  const zeros = tail === undefined ? 0 : GROUPS - front.length - (tail === '' ? 0 : groupsIn(tail));
  const groups = [
    ...front,
    ...new Array<string>(Math.max(0, zeros)).fill('0'),
    ...(tail === undefined || tail === '' ? [] : tail.split(':')),
  ];
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** Groups of 16 bits. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** One that ends as IPv4 takes the place of two. */
function groupsIn(text: string): number {
  return text.split(':').length + (text.includes('.') ? 1 : 0);
}
