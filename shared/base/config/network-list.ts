import { BlockList, isIP } from 'node:net';
import { QuiverError } from '../errors/quiver-error';

/** IPv4 in the form of IPv6, as a port that listens on both sees it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const BITS = { 4: 32, 6: 128 } as const;

/** Addresses by the networks that they are in: `10.0.0.0/8`, `2001:db8::/32`, or one address. */
export class NetworkList {
  private readonly list = new BlockList();
  /** Whether there is no network: then no address is in the list. */
  readonly isEmpty: boolean;

  /** Errors: invalid_parameter, with the first text that is no network. */
  constructor(networks: readonly string[]) {
    this.isEmpty = networks.length === 0;
    for (const text of networks) {
      const network = parseNetwork(text);
      if (network === null)
        throw new QuiverError(
          'invalid_parameter',
          `${JSON.stringify(text.slice(0, SHOWN_MAX))} is no network: expected an address, or one with the bits of its prefix, as 10.0.0.0/8 or 2001:db8::/32`,
        );
      this.list.addSubnet(network.address, network.bits, network.family);
    }
  }

  /** `address`: of a client, as a socket tells it. */
  has(address: string): boolean {
    const plain = plainAddress(address);
    return plain !== null && this.list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Longest piece of a text that a message repeats. */
const SHOWN_MAX = 80;

export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== null;
}

/** An address in its plain form: IPv4 mapped into IPv6 as IPv4, and without a zone. null: it is no address. */
export function plainAddress(text: string): string | null {
  const address = MAPPED.exec(text)?.[1] ?? text.split('%', 1)[0];
  return isIP(address) === 0 ? null : address;
}

function parseNetwork(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | null {
  const [address, prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return null;
  const most = BITS[version as 4 | 6];
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > most)) return null;
  return { address, bits: prefix === undefined ? most : Number(prefix), family: version === 6 ? 'ipv6' : 'ipv4' };
}
