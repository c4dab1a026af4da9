import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { startUnlistened } from '../../../../../coordinator/api/http/http-server';
import { RawConnection } from '../../../../support/http/raw-connection';

test('a server that never listens cuts off clients whose headers do not come', async () => {
  const server = createServer({ connectionsCheckingInterval: 20, headersTimeout: 50 }, (_request, response) =>
    response.end(),
  );
  startUnlistened(server);
  const door = createTcpServer((socket) => server.emit('connection', socket));
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done));
  const connection = await RawConnection.open({ baseUrl: `http://127.0.0.1:${(door.address() as AddressInfo).port}` });
  await connection.send('GET / HTTP/1.1\r\nhost');
  expect(await connection.closed()).toContain('408 Request Timeout');
  server.closeIdleConnections();
  door.close();
});
