import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';

/** What reaches the network beside the modules below. */
const GLOBALS = ['fetch', 'WebSocket', 'EventSource'];

/**
 * From now on nothing in this process opens a connection or looks up a name: every way in Node goes through one of
 * these. For a process that reads files of strangers.
 */
export function refuseNetwork(): void {
  const refuse = (): never => {
    throw new Error('a parser has no network');
  };
  for (const name of GLOBALS) Object.defineProperty(globalThis, name, { value: undefined });
  Object.assign(net.Socket.prototype, { connect: refuse });
  Object.assign(net.Server.prototype, { listen: refuse });
  Object.assign(dgram.Socket.prototype, { bind: refuse, connect: refuse, send: refuse });
  for (const names of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype] as object[]) {
    for (const name of Object.getOwnPropertyNames(names)) {
      if (/^(?:lookup|resolve|reverse)/.test(name)) Object.defineProperty(names, name, { value: refuse });
    }
  }
}
