import { ChannelCredentials, Client, connectivityState } from '@grpc/grpc-js';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { channelOptions } from '../../../../../shared/wire/streams/channel-options';
import { OwnedCredentials } from '../../../../../shared/wire/handshake/owned-credentials';
import { greet, PROOF_GREETING, READS_WELCOME } from '../../../../../shared/wire/frames/reads-greeting';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** The credentials `inner` on connections that begin with a greeting. */
class GreetingCredentials extends ChannelCredentials {
  constructor(private readonly inner: ChannelCredentials) {
    super();
  }

  _isSecure(): boolean {
    return this.inner._isSecure();
  }

  _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>): SecureConnector {
    const connector = this.inner._createSecureConnector(...args);
    return {
      connect: async (socket) => {
        await greet(socket, PROOF_GREETING);
        return connector.connect(socket);
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}

/** A peer that answers each connection's first bytes so, and nothing else; and all of its connections. */
class Peer {
  readonly sockets: Socket[] = [];
  private readonly server: Server;
  private readonly waiting: (() => void)[] = [];
  address = '';

  constructor(answer: (socket: Socket) => void) {
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => {
        answer(socket);
        this.waiting.splice(0).forEach((go) => go());
      });
    });
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((done) => this.server.listen(port, '127.0.0.1', done));
    this.address = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The next first bytes of a connection are there, and answered. */
  heard(): Promise<void> {
    return new Promise((done) => this.waiting.push(done));
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server.close(done));
  }
}

function ended(socket: Socket): Promise<void> {
  return new Promise((done) => (socket.destroyed ? done() : socket.once('close', () => done())));
}

const peers: Peer[] = [];
afterEach(async () => {
  for (const peer of peers.splice(0)) await peer.close();
});

async function peer(answer: (socket: Socket) => void, port?: number): Promise<Peer> {
  const one = new Peer(answer);
  peers.push(one);
  await one.listen(port);
  return one;
}

test.each<[string, ChannelCredentials, Buffer]>([
  ['a greeting', new GreetingCredentials(ChannelCredentials.createInsecure()), Buffer.alloc(0)],
  ['TLS', ChannelCredentials.createSsl(), Buffer.alloc(0)],
  ['TLS behind a greeting', new GreetingCredentials(ChannelCredentials.createSsl()), READS_WELCOME],
])('a channel that is closed while %s is under way takes its connection along', async (_, inner, answer) => {
  const silent = await peer((socket) => socket.write(answer));
  const heard = silent.heard();
  const client = new Client(silent.address, new OwnedCredentials(inner), channelOptions);
  client.getChannel().getConnectivityState(true);
  await heard;
  client.close();
  await ended(silent.sockets[0]);
  expect(silent.sockets).toHaveLength(1);
});

test('a connection on which the other end never begins HTTP/2 ends with its channel', async () => {
  const silent = await peer(() => undefined);
  const heard = silent.heard();
  const client = new Client(
    silent.address,
    new OwnedCredentials(ChannelCredentials.createInsecure(), 50),
    channelOptions,
  );
  client.getChannel().getConnectivityState(true);
  await heard;
  client.close();
  await ended(silent.sockets[0]);
});

test('what is connected only after the channel was closed is closed', async () => {
  let taken = (): void => undefined;
  const inner = ChannelCredentials.createInsecure();
  const credentials = new OwnedCredentials(inner);
  jest.spyOn(inner, '_createSecureConnector').mockReturnValue({
    waitForReady: async () => undefined,
    connect: (socket) => new Promise((done) => (taken = () => done({ socket, secure: false }))),
    getCallCredentials: () => null as never,
    destroy: () => undefined,
  });
  const connector = credentials._createSecureConnector({ path: 'a:1' }, {});
  const socket = { destroyed: false, once: () => undefined, destroy: () => (socket.destroyed = true) };
  const connecting = connector.connect(socket as unknown as Socket);
  connector.destroy();
  taken();
  await expect(connecting).rejects.toThrow('the channel is closed');
  expect(socket.destroyed).toBe(true);
  await expect(connector.waitForReady()).rejects.toThrow('the channel is closed');
});

/** Notes that a connection was not begun because the channel was closed. */
class NotingCredentials extends OwnedCredentials {
  refused: () => void = () => undefined;
  readonly wasRefused = new Promise<void>((done) => (this.refused = done));

  override _createSecureConnector(
    ...args: Parameters<OwnedCredentials['_createSecureConnector']>
  ): ReturnType<OwnedCredentials['_createSecureConnector']> {
    const connector = super._createSecureConnector(...args);
    const waitForReady = async (): Promise<void> => {
      await connector.waitForReady().catch((error: Error) => {
        this.refused();
        throw error;
      });
    };
    return { ...connector, waitForReady };
  }
}

test('a channel that is closed while it waits to connect again makes no further connection', async () => {
  const gone = await peer(() => undefined);
  const { address } = gone;
  await gone.close();
  const credentials = new NotingCredentials(ChannelCredentials.createInsecure());
  const channel = new Client(address, credentials, channelOptions).getChannel();
  await new Promise<void>((done) => {
    const watch = (): void => {
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.TRANSIENT_FAILURE) done();
      else channel.watchConnectivityState(state, Infinity, watch);
    };
    watch();
  });
  const back = await peer(() => undefined, Number(address.split(':')[1]));
  channel.close();
  await credentials.wasRefused;
  expect(back.sockets).toHaveLength(0);
});
