import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectSecured, type TLSSocket } from 'node:tls';
import { TlsDoor } from '../../../../../coordinator/api/connections/tls-door';
import { CertificateAuthority } from '../../../../support/cluster/certificate-authority';

test('a client that never ends its handshake is cut off, and one that did may stay', async () => {
  const authority = new CertificateAuthority('an authority');
  const opened: TLSSocket[] = [];
  const door = new TlsDoor({
    certificate: { ...authority.issue('api'), ticketKeys: new Uint8Array(48) },
    opened: (socket) => opened.push(socket),
    handshakeMs: 2_000,
  });
  const taken: Socket[] = [];
  const server = createServer((socket) => {
    taken.push(socket);
    door.take(socket);
  });
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const good = connectSecured({
      port,
      host: '127.0.0.1',
      ca: authority.pem,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
    });
    await once(good, 'secureConnect');
    const silent = connect(port, '127.0.0.1');
    const halfway = connect(port, '127.0.0.1', () =>
      halfway.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])),
    );
    const garbage = connect(port, '127.0.0.1', () => garbage.write('GET / HTTP/1.1\r\n\r\n'));
    await Promise.all([silent, halfway, garbage].map((socket) => once(socket.resume(), 'close')));
    expect([opened.length, good.destroyed]).toEqual([1, false]);
    expect(taken.map(({ destroyed }) => destroyed)).toEqual([false, true, true, true]);
    good.destroy();
  } finally {
    for (const socket of [...opened, ...taken]) socket.destroy();
    server.close();
    authority.destroy();
  }
});
