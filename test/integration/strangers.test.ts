import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../shared/wire/administration';
import { LossyRequestService } from '../../shared/wire/streams/lossy-request-service';
import { RpcChannel } from '../../shared/wire/streams/rpc-channel';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import type { UnprovenBounds } from '../../shared/wire/handshake/unproven-connections';
import { beginning, FLAGS, frameOf, goAwayOf, headersOf, resetOf, TYPES } from '../support/http/http2-frames';
import { watchEarlyResets } from '../support/http/http2-resets';
import { PLAIN } from '../support/cluster/rpc-node';

/** Connections to a port of members by which nobody proves to be one, with a look at how they begin. */

let server: RpcServer;
let port: number;
const sockets: Socket[] = [];

async function listen(unproven: UnprovenBounds): Promise<void> {
  const service = new LossyRequestService<AdministrationRequest, WireReport>({
    definition: administrationDefinition,
    answer: async () => ({ report: { shards: [] }, digest: null }),
    onError: () => undefined,
  });
  server = new RpcServer({ services: [service], ...PLAIN, unproven });
  // As a node does, which looks at how a connection begins and puts back what it read.
  port = await server.listenBeside('127.0.0.1:0', (socket) => socket.destroy());
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
    await Promise.all([
      closed(open()),
      closed(open('P')),
      closed(open('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
      closed(stranger),
    ]);
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

const call = (path: string, type: string): [string, string][] => [
  [':method', 'POST'],
  [':path', path],
  [':scheme', 'http'],
  [':authority', 'a'],
  ['content-type', type],
  ['te', 'trailers'],
];
const KNOWN = '/quiver.v1.Administration/Exchange';

test.each<[string, Buffer]>([
  ['an unknown method', headersOf(1, call('/nope/Nope', 'application/grpc'))],
  ['another content type', headersOf(1, call(KNOWN, 'text/plain'))],
  [
    'no content type',
    headersOf(
      1,
      call(KNOWN, 'application/grpc').filter(([name]) => name !== 'content-type'),
    ),
  ],
  ['a known method', headersOf(1, call(KNOWN, 'application/grpc'))],
  ['a known method without a body', headersOf(1, call(KNOWN, 'application/grpc'), FLAGS.endHeaders | FLAGS.endStream)],
  ['the greeting of members', headersOf(1, call('/quiver.v1.Members/Hello', 'application/grpc'))],
  ['a deadline that is none', headersOf(1, [...call(KNOWN, 'application/grpc'), ['grpc-timeout', 'soon']])],
])('a stream of a stranger that ends in the piece that it began in ends nothing else: %s', async (_, begin) => {
  // After some errors of a client, Node reads nothing more of a connection: it is cut when its time is over.
  await listen({});
  const junk = frameOf(TYPES.data, { stream: 1, content: Buffer.from('00000000017f', 'hex') });
  const ends = [
    resetOf(1),
    Buffer.concat([junk, resetOf(1)]),
    goAwayOf(0),
    Buffer.concat([resetOf(1), goAwayOf(1, 2)]),
    frameOf(TYPES.windowUpdate, { stream: 1, content: Buffer.alloc(4) }),
    null,
  ];
  for (const end of ends) {
    const socket = open();
    // Without an end of its own the connection is gone at once.
    socket.end(Buffer.concat([beginning(), begin, ...(end === null ? [] : [end])]));
    await closed(socket);
  }
  // In this process an error that a listener lets out fails the test.
  await mustServeMembers();
});

test.each([
  ['stay open', (): Buffer[] => []],
  ['end in the piece that they began in', (stream: number): Buffer[] => [resetOf(stream)]],
])('who opens many streams without a proof is cut, and has no more of them: those that %s', async (_, end) => {
  await listen({ withinMs: 3_600_000 });
  const stranger = headersOf(1, call(KNOWN, 'application/grpc')).subarray(9);
  const streams = Array.from({ length: 100 }, (_one, i) => 1 + 2 * i).flatMap((stream) => [
    frameOf(TYPES.headers, { flags: FLAGS.endHeaders, stream, content: stranger }),
    ...end(stream),
  ]);
  const socket = open();
  socket.write(Buffer.concat([beginning(), ...streams]));
  await closed(socket);
  await mustServeMembers();
});

test.each([
  ['at once', false],
  ['after a while', true],
])('of thousands of streams that a stranger sends in one piece %s, only few are read', async (_, isLater) => {
  await listen({ withinMs: 3_600_000 });
  const { strangers } = server as unknown as { strangers: { arrived: (...given: unknown[]) => void } };
  const arrived = strangers.arrived.bind(strangers);
  let count = 0;
  strangers.arrived = (...given) => {
    count += 1;
    arrived(...given);
  };
  const streams = Array.from({ length: 2_000 }, (_one, i) => headersOf(1 + 2 * i, call(KNOWN, 'application/grpc')));
  const socket = open();
  if (isLater) {
    socket.write(beginning());
    // The settings of the other side.
    await new Promise((heard) => socket.once('data', heard));
    socket.write(Buffer.concat(streams));
  } else socket.write(Buffer.concat([beginning(), ...streams]));
  await closed(socket);
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThan(100);
  await mustServeMembers();
});

test('nothing but the gate sees a stream before its caller is proven', async () => {
  await listen({});
  const { server: library } = server as unknown as { server: { _retrieveHandler: (path: string) => unknown } };
  const retrieve = library._retrieveHandler.bind(library);
  const seen: string[] = [];
  library._retrieveHandler = (path) => {
    seen.push(path);
    return retrieve(path);
  };
  for (const path of [KNOWN, '/nope/Nope', '/quiver.v1.Members/Hello']) {
    const socket = open();
    socket.end(Buffer.concat([beginning(), headersOf(1, call(path, 'application/grpc'))]));
    await closed(socket);
  }
  expect(seen).toEqual([]);
  await mustServeMembers();
  expect(seen).toEqual([KNOWN]);
});

test('nothing that a stranger sends has a stream ended while the library reads it', async () => {
  await listen({});
  const stream = (id: number, ends = false): Buffer =>
    headersOf(id, call('/nope/Nope', 'application/grpc'), FLAGS.endHeaders | (ends ? FLAGS.endStream : 0));
  const many = Array.from({ length: 100 }, (_, i) => stream(1 + 2 * i, i % 2 === 0));
  const pieces: Buffer[][] = [
    [goAwayOf(0), stream(1)],
    [stream(1), goAwayOf(0), stream(3), stream(5, true)],
    [stream(1), stream(3, true), goAwayOf(0, 2), stream(5)],
    many,
    [stream(1), resetOf(1), stream(3)],
    [stream(1, true), frameOf(TYPES.data, { stream: 1, content: Buffer.alloc(20) }), stream(3)],
    [stream(1), frameOf(TYPES.windowUpdate, { stream: 1, content: Buffer.from([0x7f, 0xff, 0xff, 0xff]) }), stream(3)],
    [
      stream(1),
      frameOf(TYPES.pushPromise, { flags: FLAGS.endHeaders, stream: 1, content: Buffer.from([0, 0, 0, 2]) }),
      stream(3),
    ],
  ];
  // With what the server looks at first, and puts back, or behind that, where Node reads by itself.
  const send = async (frames: Buffer[], isBehind: boolean): Promise<void> => {
    const socket = open();
    if (isBehind) {
      const greeted = new Promise((done) => socket.once('data', done));
      socket.write(beginning());
      await greeted;
      socket.end(Buffer.concat(frames));
    } else {
      socket.end(Buffer.concat([beginning(), ...frames]));
    }
    await closed(socket);
  };
  const early: string[] = [];
  const endWatch = await watchEarlyResets((stack) => early.push(stack));
  try {
    await Promise.all(pieces.flatMap((frames) => [send(frames, false), send(frames, true)]));
  } finally {
    endWatch();
  }
  expect(early).toEqual([]);
  await mustServeMembers();
});

async function mustServeMembers(): Promise<void> {
  const channel = new RpcChannel({ address: `127.0.0.1:${port}`, credentials: PLAIN });
  try {
    await new Promise<void>((done, fail) => {
      channel.open(administrationDefinition.Exchange, {
        ready: () => done(),
        frame: () => undefined,
        ended: (end: { reason: string }) => fail(new Error(end.reason)),
      });
    });
  } finally {
    channel.close();
  }
}
