import { type AddressInfo, createServer } from 'node:net';
import { RpcServer } from '../../../../../shared/wire/streams/rpc-server';

test('a port that is taken is told in one line that names the setting', async () => {
  const other = createServer();
  await new Promise<void>((listens) => other.listen(0, '127.0.0.1', listens));
  const { port } = other.address() as AddressInfo;
  const server = new RpcServer({ secret: 'sixteen letters!', tls: null, services: [] });
  await expect(server.listen(`127.0.0.1:${port}`)).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringMatching(
      new RegExp(`^the port 127\\.0\\.0\\.1:${port} can't be opened \\(RPC_PORT\\): .*EADDRINUSE`),
    ),
  });
  await server.close(0);
  await new Promise((closed) => other.close(closed));
});
