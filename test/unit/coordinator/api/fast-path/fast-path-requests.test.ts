import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { FastPathRequests } from '../../../../../coordinator/api/fast-path/fast-path-requests';
import { ListenerGuard } from '../../../../../shared/base/process/listener-guard';
import { eventually } from '../../../../support/eventually';

/**
 * The server gives the parser of such a connection to the next one: what it read there besides would be requests of
 * another client.
 */
test('what comes behind a request for a tunnel is nobody’s', async () => {
  const told: unknown[] = [];
  const requests = new FastPathRequests({
    isIdle: () => true,
    take: () => false,
    keepAliveTimeoutMs: 1_000,
    guard: new ListenerGuard((error) => told.push(error)),
  });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.end();
  });
  server.on('connection', (socket) => requests.watch(socket));
  const taken = new Promise<Socket>((done) =>
    server.on('connect', (_request, socket) => done(socket.resume() as Socket)),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  try {
    const tunnel = 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n';
    client.write(tunnel);
    const socket = await taken;
    const opened = new Promise((done) => server.once('connection', done));
    const other = connect(port, '127.0.0.1');
    await opened;
    const more = 'GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n';
    client.write(more);
    await eventually('all is read', () => socket.bytesRead === tunnel.length + more.length);
    other.write('GET /own HTTP/1.1\r\nhost: a\r\n\r\n');
    await eventually('the other client is served', () => asked.includes('/own'));
    expect([asked, told]).toEqual([['/own'], []]);
    other.destroy();
  } finally {
    client.destroy();
    server.close();
  }
});
