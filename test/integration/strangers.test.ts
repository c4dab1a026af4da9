import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { administrationDefinition, type WireQuestion, type WireReport } from '../../shared/cluster/administration';
import { QuestionService } from '../../shared/rpc/question-service';
import { RpcChannel } from '../../shared/rpc/rpc-channel';
import { RpcServer } from '../../shared/rpc/rpc-server';
import type { UnprovenBounds } from '../../shared/rpc/unproven-connections';
import { PLAIN } from '../support/rpc-node';

/** Connections to a port of members by which nobody proves to be one, where no threads read. */

let server: RpcServer;
let port: number;
const sockets: Socket[] = [];

async function listen(unproven: UnprovenBounds): Promise<void> {
  const service = new QuestionService<WireQuestion, WireReport>({ definition: administrationDefinition, answer: async () => ({ report: { shards: [] }, digest: null }), onError: () => undefined });
  server = new RpcServer({ services: [service], ...PLAIN, unproven });
  port = await server.listen('127.0.0.1:0');
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close(0);
});

function open(bytes = ''): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  if (bytes !== '') socket.write(bytes, 'latin1');
  sockets.push(socket);
  return socket;
}

function closed(socket: { destroyed: boolean; once(event: 'close', listener: () => void): unknown }): Promise<void> {
  return socket.destroyed ? Promise.resolve() : new Promise((done) => socket.once('close', done));
}

test('each is cut in time, whatever it begins with, and that of a member stays', async () => {
  await listen({ withinMs: 3_000 });
  const channel = new RpcChannel({ address: `127.0.0.1:${port}`, credentials: PLAIN });
  const ends: unknown[] = [];
  const ready = (): Promise<void> =>
    new Promise((done, fail) => {
      const ended = (end: { reason: string }): void => {
        ends.push(end);
        fail(new Error(end.reason));
      };
      channel.open(administrationDefinition.Exchange, { ready: () => done(), frame: () => undefined, ended });
    });
  try {
    await ready();
    // The last one speaks HTTP/2 as it should, answers pings, and is no member.
    const stranger = connectHttp2(`http://127.0.0.1:${port}`);
    stranger.on('error', () => undefined);
    await Promise.all([closed(open()), closed(open('P')), closed(open('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')), closed(stranger)]);
    await ready();
    expect(ends).toEqual([]);
  } finally {
    channel.close();
  }
});

test('of too many from one address, the oldest is cut at once', async () => {
  await listen({ withinMs: 3_600_000, mostOfAddress: 3 });
  const opened: Socket[] = [];
  for (let i = 0; i < 5; i += 1) {
    const socket = open();
    opened.push(socket);
    await new Promise((done) => socket.once('connect', done));
  }
  await Promise.all(opened.slice(0, 2).map(closed));
  expect(opened.slice(2).map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
});
