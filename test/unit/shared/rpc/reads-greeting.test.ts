import { ChannelCredentials, Client } from '@grpc/grpc-js';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { GreetingCredentials, READS_GREETING, READS_WELCOME } from '../../../../shared/rpc/reads-greeting';

/** What a client is answered when it has greeted; nothing follows. */
test.each([
  ['nobody welcomes it', Buffer.alloc(0), ChannelCredentials.createInsecure()],
  ['the thread takes no part in TLS', READS_WELCOME, ChannelCredentials.createSsl()],
])('a connection on which %s is closed in time, also when its channel is', async (_, answer, inner) => {
  const server = createServer();
  const connected: Promise<Socket> = new Promise((done) => server.once('connection', done));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const client = new Client(`127.0.0.1:${port}`, new GreetingCredentials(inner, 100));
  client.getChannel().getConnectivityState(true);
  const socket = await connected;
  const closed = new Promise((done) => socket.on('error', () => undefined).once('close', done));
  const heard = await new Promise((done) => socket.once('data', done));
  expect(heard).toEqual(READS_GREETING);
  socket.resume().write(answer);
  client.close();
  await closed;
  server.close();
});
